"""TRADES: accuracy on clean inputs, traded against steadiness around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.attacks import Ball, Norm, ascend
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.noise import forward_copies, noises
from wassermix.methods.options import require_choice, require_range
from wassermix.methods.search import box, searching

__all__ = ["TRADES"]

START = 1e-3  # the noise that moves the first point off the maximum's flat top, where the gradient is zero


@dataclass(frozen=True, kw_only=True)
class TRADES:
    """Clean cross-entropy, plus how far the prediction can be moved inside a ball.

    ``mean CE(f(x), y) + weight * mean KL(p(x) | p(x'))``, where x' maximises that KL inside the ball of
    radius eps, found by T steps from ``x + 0.001 N(0, I)`` with ``p(x)`` fixed; gradients flow through
    both arguments.

    Args:
        norm: ``l2`` or ``linf``.
        eps: the radius of the ball, on the data scale.
        steps: T.
        step_size: the length of a step; None is ``2 * eps / steps``.
        weight: the factor of the KL term.
    """

    norm: Norm = "linf"
    eps: float = 8 / 255
    steps: int = 10
    step_size: float | None = None
    weight: float = 6.0

    reference: ClassVar[str] = "Zhang et al. 2019"
    sigma: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require_choice(self, ("l2", "linf"), norm=self.norm)
        require_range(self, 0, eps=self.eps, step_size=self.step_size or 0.0, weight=self.weight)
        require_range(self, 1, steps=self.steps)

    @property
    def passes(self) -> float:
        """T + 2."""
        return float(self.steps + 2)

    @property
    def perturb_passes(self) -> float:
        """T."""
        return float(self.steps)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce`` and ``kl``."""
        moved = self.perturb(model, batch)
        clean, worst = forward_copies(model, torch.stack([batch.x, moved]))
        return {
            "ce": labels.cross_entropy(clean, batch.y).mean(),
            "kl": self.weight * divergence(clean, worst).mean(),
        }

    def perturb(self, model: Classifier, batch: Batch) -> Tensor:
        """x', the inputs inside the ball whose prediction is farthest from that of x."""
        step_size = 2 * self.eps / self.steps if self.step_size is None else self.step_size
        start = batch.x + noises(batch.x, START, count=1, generator=batch.generator)[0]
        with searching(model):
            with torch.no_grad():
                clean = model(batch.x)
            return ascend(
                lambda point: divergence(clean, model(point)),
                batch.x,
                start,
                ball=Ball(self.eps, self.norm, box(batch.x)),
                steps=self.steps,
                step_size=step_size,
                generator=batch.generator,
            )


def divergence(logits: Tensor, other: Tensor) -> Tensor:
    """``KL(softmax(logits) | softmax(other))`` for each sample: ``(n, k), (n, k) -> (n,)``."""
    log_p, log_q = logits.log_softmax(dim=1), other.log_softmax(dim=1)
    return (log_p.exp() * (log_p - log_q)).sum(dim=1)
