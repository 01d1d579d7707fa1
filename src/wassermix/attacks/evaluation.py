"""The accuracy that an attack leaves: block by block, with a flag for each image and an interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from wassermix.attacks.base import Attack, BallAttack, Judgement
from wassermix.attacks.checks import Check, in_training, sanity_checks
from wassermix.attacks.shares import share
from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.core.labels import hard
from wassermix.core.streams import stream

__all__ = [
    "CHECKED_IMAGES",
    "AttackResult",
    "Samples",
    "attack_curve",
    "evaluate_attack",
    "gather_result",
    "joined",
    "judge_block",
]

Progress = Callable[[int, int], None]

CHECKED_IMAGES = 50
"""How many images the sanity checks look at: enough to see a fault, cheap beside the attack."""


class Samples(Protocol):
    """What is attacked: any data split, or tensors held in memory."""

    @property
    def y(self) -> Tensor:
        """Labels ``(n,)`` or ``(n, k)``."""

    def get(self, indices: Tensor) -> Tensor:
        """The samples at ``indices`` on their data scale."""


@dataclass(frozen=True)
class AttackResult:
    """An attack's number with all that it depends on; flags run over the images ``index (n,)``."""

    parameters: dict[str, Any]
    index: Tensor
    label: Tensor
    clean_correct: Tensor
    robust_correct: Tensor
    summary: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    seconds: float = 0.0

    @property
    def clean(self) -> dict[str, float | int]:
        """Accuracy without the attack, with its interval."""
        return share(self.clean_correct)

    @property
    def robust(self) -> dict[str, float | int]:
        """Accuracy under the attack: the share of images right both before and after it."""
        return share(self.robust_correct)

    def record(self) -> dict[str, Any]:
        """The result as the JSON file holds it."""
        flags = {
            "index": self.index.tolist(),
            "label": self.label.tolist(),
            "clean_correct": self.clean_correct.int().tolist(),
            "robust_correct": self.robust_correct.int().tolist(),
        }
        return {
            **self.parameters,
            "images": len(self.index),
            "clean": self.clean,
            "robust": self.robust,
            **self.summary,
            "checks": [asdict(check) for check in self.checks],
            "seconds": round(self.seconds, 3),
            "per_image": flags,
        }


@dataclass(frozen=True)
class _Held:
    """Tensors as samples."""

    x: Tensor
    y: Tensor

    def get(self, indices: Tensor) -> Tensor:
        return self.x[indices.to(self.x.device)]


def judge_block(
    model: Classifier,
    samples: Samples,
    indices: Tensor,
    *,
    attack: Attack,
    block: int,
    alive: Tensor | None = None,
) -> Judgement:
    """Attack the images at ``indices``; the noise depends on the seed and the block's number alone."""
    x, y = _fetch(model, samples, indices)
    attack.check(x, y)
    found = attack.judge(model, x, y, generator=stream(attack.seed, "attack", block), alive=alive)
    extra = {name: values.cpu() for name, values in found.extra.items()}
    return Judgement(found.clean.cpu(), found.robust.cpu(), extra)


def joined(parts: Sequence[Judgement]) -> Judgement:
    """The judgements of several blocks as one."""
    extra = {name: torch.cat([part.extra[name] for part in parts]) for name in parts[0].extra}
    clean, robust = (torch.cat([getattr(part, name) for part in parts]) for name in ("clean", "robust"))
    return Judgement(clean, robust, extra)


def gather_result(
    model: Classifier,
    samples: Samples,
    indices: Tensor,
    *,
    attack: Attack,
    found: Judgement,
    seconds: float,
    training: bool,
    check: bool = True,
    beside: bool = False,
) -> AttackResult:
    """Put flags, parameters and the sanity checks together."""
    few = _spread(indices[found.clean], CHECKED_IMAGES)
    checks: tuple[Check, ...] = ()
    if check:
        x, y = _fetch(model, samples, few)
        checks = sanity_checks(model, x, y, attack=attack, training=training, beside=beside)
    return AttackResult(
        parameters=attack.parameters() | _details(model, samples, indices, attack),
        index=indices.cpu(),
        label=hard(samples.y[indices.to(samples.y.device)]).cpu(),
        clean_correct=found.clean,
        robust_correct=found.robust,
        summary=attack.summary(found.extra),
        checks=checks,
        seconds=seconds,
    )


def evaluate_attack(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    attack: Attack,
    batch_size: int = 128,
    check: bool = True,
    progress: Progress | None = None,
) -> AttackResult:
    """Accuracy before and under an attack on ``x (n, ...)``, with per-image flags and sanity checks."""
    (result,) = _evaluate(
        model, _Held(x, y), attacks=[attack], batch_size=batch_size, check=check, progress=progress
    )
    return result


def attack_curve(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    *,
    attack: BallAttack,
    eps: Sequence[float],
    batch_size: int = 128,
    check: bool = True,
    progress: Progress | None = None,
) -> list[AttackResult]:
    """The attack at several radii, smallest first.

    A point that fools the model within a radius lies within every larger one, so an image fooled
    once counts as fooled from there on: the curve never rises, and costs less than its parts.
    """
    attacks = [attack.with_eps(radius) for radius in sorted(eps)]
    return _evaluate(
        model, _Held(x, y), attacks=attacks, batch_size=batch_size, check=check, progress=progress
    )


def _evaluate(
    model: Classifier,
    samples: _Held,
    *,
    attacks: Sequence[Attack],
    batch_size: int,
    check: bool,
    progress: Progress | None,
) -> list[AttackResult]:
    """Each attack on what the ones before it left."""
    indices, training = torch.arange(len(samples.x)), in_training(model)
    if len(indices) == 0:
        raise InputError("attack: there are no images to attack; expected at least one")
    alive = torch.ones(len(indices), dtype=torch.bool)
    results = []
    for number, attack in enumerate(attacks):
        start, parts = time.perf_counter(), []
        for block, rows in enumerate(indices.split(batch_size)):
            part = judge_block(model, samples, rows, attack=attack, block=block, alive=alive[rows])
            parts.append(part)
            if progress is not None:
                progress(number * len(indices) + int(rows[-1]) + 1, len(attacks) * len(indices))
        found = joined(parts)
        alive = found.robust
        results.append(
            gather_result(
                model,
                samples,
                indices,
                attack=attack,
                found=found,
                seconds=time.perf_counter() - start,
                training=training,
                check=check,
            )
        )
    return results


def _spread(indices: Tensor, count: int) -> Tensor:
    """At most ``count`` of the indices, evenly spaced: data sorted by class give some of each."""
    if len(indices) <= count:
        return indices
    return indices[torch.arange(count) * len(indices) // count]


def _fetch(model: Classifier, samples: Samples, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Inputs and labels on the model's device, if it has one."""
    x, y = samples.get(indices), samples.y[indices.to(samples.y.device)]
    first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    return (x, y) if first is None else (x.to(first.device), y.to(first.device))


def _details(model: Classifier, samples: Samples, indices: Tensor, attack: Attack) -> dict[str, Any]:
    x, _ = _fetch(model, samples, indices[:1])
    with evaluating(model), torch.no_grad():
        return attack.details(tuple(x.shape[1:]), model(x).shape[1])
