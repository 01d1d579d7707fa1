"""The accuracy that an attack leaves: block by block, with a flag for each image and an interval."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.attacks.ball import BallAttack
from wassermix.attacks.checks import in_training, sanity_checks
from wassermix.attacks.protocol import Attack, Judgement, check_inputs
from wassermix.attacks.result import AttackResult, Check
from wassermix.attacks.surrogate import POOL, distil
from wassermix.core.classifier import Classifier, evaluating, logits_of
from wassermix.core.errors import InputError
from wassermix.core.fingerprint import fingerprint
from wassermix.core.labels import checked, hard
from wassermix.core.pieces import Progress
from wassermix.core.samples import LabelledSamples, TensorSamples
from wassermix.core.streams import stream

__all__ = ["CHECKED_IMAGES", "AttackTask", "attack_curve", "evaluate_attack"]

CHECKED_IMAGES = 50
"""How many images the sanity checks look at: enough to see a fault, cheap beside the attack."""
POOL_ENTRIES = 20_000_000
"""The images that a surrogate learns from have at most so many entries together."""


@dataclass(frozen=True, eq=False)
class AttackTask:
    """An attack on the images ``indices`` of ``samples``, in blocks, and what its result says beside.

    ``about`` is put into the result as it is: which data, which split. ``after`` is the same attack's result
    at a smaller radius: an image that was fooled there counts as fooled here.
    """

    model: Classifier
    samples: LabelledSamples
    indices: Sequence[int]
    attack: Attack
    batch_size: int = 128
    checks: bool = True
    about: Mapping[str, Any] | None = None
    after: AttackResult | None = None

    def __post_init__(self) -> None:
        """Refuse an empty selection, empty blocks, and a result of other images to go on from."""
        if len(self.indices) == 0:
            raise InputError("attack: there are no images to attack; expected at least one")
        if self.batch_size < 1:
            raise InputError(f"attack: batch_size is {self.batch_size}; expected 1 or more images at once")
        if self.after is not None and self.after.index.tolist() != list(self.indices):
            raise InputError("attack: the result at a smaller radius is of other images; take the same ones")

    @property
    def rows(self) -> Tensor:
        """The indices as a tensor."""
        return torch.tensor(self.indices, dtype=torch.int64)

    @property
    def blocks(self) -> list[Tensor]:
        """The images of each block."""
        return list(self.rows.split(self.batch_size))

    def parameters(self) -> dict[str, Any]:
        """All that decides the result: a resumed run must ask for the same."""
        return {
            **(self.about or {}),
            **self._smaller(),
            "fingerprint": fingerprint(self.model),
            **self.attack.parameters(),
            "batch_size": self.batch_size,
            "indices": _spelled(self.indices),
        }

    def judge(self, block: int) -> dict[str, Any]:
        """What becomes of one block, as a log holds it; its noise depends on seed and number alone."""
        begun, attack = time.perf_counter(), self.attack
        x, y = self._fetch(rows := self.blocks[block])
        attack.check(x, y)
        left = None
        if self.after is not None:
            left = self.after.robust_correct[block * self.batch_size :][: len(rows)]
        generator = stream(attack.seed, "attack", block)
        found = attack.judge(self.model, x, y, generator=generator, alive=left)
        return {
            "clean": found.clean.int().tolist(),
            "robust": found.robust.int().tolist(),
            "extra": {name: values.tolist() for name, values in found.extra.items()},
            "seconds": time.perf_counter() - begun,
        }

    def result(self, blocks: Sequence[Mapping[str, Any]], *, beside: str | None = None) -> AttackResult:
        """The result of all blocks, looked at closely; ``beside`` as in :func:`check_strength`."""
        found = _joined(blocks)
        return AttackResult(
            parameters=self.parameters() | self._details(),
            title=self.attack.title,
            identity_keys=(*self.attack.identity_keys, *self._smaller()),
            index=self.rows,
            label=hard(self.samples.y[self.rows.to(self.samples.y.device)]).cpu(),
            clean_correct=found.clean,
            robust_correct=found.robust,
            summary=self.attack.summary(found.extra),
            checks=self._look(found.clean, beside) if self.checks else (),
            seconds=sum(block["seconds"] for block in blocks),
        )

    def _look(self, clean: Tensor, beside: str | None) -> tuple[Check, ...]:
        """The sanity checks on a few of the images that are right, and on a small copy of the model."""
        x, y = self._fetch(_spread(self.rows[clean], CHECKED_IMAGES))
        surrogate = None
        if len(x) and isinstance(self.attack, BallAttack) and self.attack.eps > 0:
            count = max(CHECKED_IMAGES, min(POOL, POOL_ENTRIES // x[0].numel()))
            surrogate = distil(self.model, self._fetch(_spread(self.rows, count))[0], seed=self.attack.seed)
        training = in_training(self.model)
        return sanity_checks(
            self.model, x, y, attack=self.attack, training=training, beside=beside, surrogate=surrogate
        )

    def _smaller(self) -> dict[str, Any]:
        """``{"smaller_eps": [...]}``: the radii whose fooled images count as fooled here."""
        if self.after is None:
            return {}
        known = self.after.parameters
        return {"smaller_eps": [*known.get("smaller_eps", ()), known["eps"]]}

    def _fetch(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and labels on the model's device, if it has one."""
        x, y = self.samples.get(rows), self.samples.y[rows.to(self.samples.y.device)]
        first = next(self.model.parameters(), None) if isinstance(self.model, nn.Module) else None
        return (x, y) if first is None else (x.to(first.device), y.to(first.device))

    def _details(self) -> dict[str, Any]:
        x, _ = self._fetch(self.rows[:1])
        with evaluating(self.model), torch.no_grad():
            return self.attack.details(tuple(x.shape[1:]), logits_of(self.model, x).shape[1])


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
    check_inputs(x, y, None)
    y = checked(y)
    task = AttackTask(model, TensorSamples(x, y), range(len(x)), attack, batch_size=batch_size, checks=check)
    return _carried_out(task, progress, total=len(x))


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
    check_inputs(x, y, None)
    samples, results = TensorSamples(x, checked(y)), []
    after, whole = None, len(eps) * len(x)
    for number, radius in enumerate(sorted(eps)):
        task = AttackTask(
            model, samples, range(len(x)), attack.with_eps(radius),
            batch_size=batch_size, checks=check, after=after,
        )  # fmt: skip
        after = _carried_out(task, progress, before=number * len(x), total=whole)
        results.append(after)
    return results


def _carried_out(task: AttackTask, progress: Progress | None, *, before: int = 0, total: int) -> AttackResult:
    """All blocks in memory; ``before`` images of ``total`` are done already."""
    logged = []
    for block in range(len(task.blocks)):
        logged.append(task.judge(block))
        if progress is not None:
            progress(before + min((block + 1) * task.batch_size, len(task.indices)), total)
    return task.result(logged)


def _joined(lines: Sequence[Mapping[str, Any]]) -> Judgement:
    """The logged blocks as one judgement."""

    def whole(values: Iterable[Sequence[Any]]) -> Tensor:
        return torch.cat([torch.tensor(part) for part in values])

    extra = {name: whole(line["extra"][name] for line in lines) for name in lines[0]["extra"]}
    clean, robust = (whole(line[key] for line in lines).bool() for key in ("clean", "robust"))
    return Judgement(clean, robust, extra)


def _spread(indices: Tensor, count: int) -> Tensor:
    """At most ``count`` of the indices, evenly spaced: data sorted by class give some of each."""
    if len(indices) <= count:
        return indices
    return indices[torch.arange(count) * len(indices) // count]


def _spelled(indices: Sequence[int]) -> dict[str, int] | list[int]:
    """Evenly spaced indices as ``{first, every, count}``, others as a list."""
    values = [int(index) for index in indices]
    every = values[1] - values[0] if len(values) > 1 else 1
    if values == list(range(values[0], values[0] + every * len(values), every or 1)):
        return {"first": values[0], "every": every, "count": len(values)}
    return values
