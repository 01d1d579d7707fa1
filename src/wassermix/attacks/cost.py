"""What an attack will cost: passes and minutes, from a short measurement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wassermix.attacks.ascent import input_gradient
from wassermix.attacks.evaluation import CHECKED_IMAGES
from wassermix.attacks.protocol import Attack
from wassermix.attacks.surrogate import COPIES, POOL
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.cost import Cost
from wassermix.core.samples import LabelledSamples

__all__ = ["AttackCost", "estimate_attack"]


@dataclass(frozen=True, kw_only=True)
class AttackCost(Cost):
    """Forward + backward passes at most (images already wrong or fooled leave early), and their pace."""

    images: int


def estimate_attack(
    model: Classifier,
    samples: LabelledSamples,
    indices: Tensor | Sequence[int],
    *,
    attack: Attack,
    batch_size: int = 128,
    seconds: float = 1.0,
) -> AttackCost:
    """Run gradients on one batch for about ``seconds`` and estimate the attack and its checks."""
    x = samples.get(torch.as_tensor(indices[:batch_size], dtype=torch.int64))
    if isinstance(model, nn.Module) and (first := next(model.parameters(), None)) is not None:
        x = x.to(first.device)
    with evaluating(model), frozen(model), torch.enable_grad():
        _one_pass(model, x)  # warms up, outside the clock
        started, batches = time.perf_counter(), 0
        while batches == 0 or time.perf_counter() - started < seconds:
            _one_pass(model, x)
            batches += 1
        pace = batches * len(x) / (time.perf_counter() - started)
    checks = min(CHECKED_IMAGES, len(indices)) * _CHECK_PASSES + min(POOL, len(indices)) * COPIES / 3
    passes = round((attack.passes + 2 / 3) * len(indices) + checks)
    return AttackCost(images=len(indices), passes=passes, passes_per_second=pace)


_CHECK_PASSES = 20 + 2 * 10 + 2 + 50 / 3
"""The unbounded attack, many steps at two radii, one step, a gradient, and the random queries."""


def _one_pass(model: Classifier, x: Tensor) -> None:
    input_gradient(lambda point: model(point).logsumexp(dim=1), x).sum().item()
