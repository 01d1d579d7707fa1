"""FGSM and PGD in both norms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from wassermix.attacks.ascent import LOSSES, ascend
from wassermix.attacks.ball import Ball, BallAttack
from wassermix.attacks.protocol import fooled
from wassermix.attacks.steps import other_walk, read_step, step_at, usual_step
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError

__all__ = ["FGSM", "PGD"]

MANY_RESTARTS = 5
"""With so many restarts a number is more than an upper bound."""


@dataclass(frozen=True, kw_only=True)
class PGD(BallAttack):
    """Projected gradient ascent on the loss in an l2 or linf ball (Madry et al.), with restarts.

    The step is ``2.5 * eps / steps`` unless given. Of several restarts each image keeps the first
    that fools the model, else the one of the highest loss; ``restarts=1`` gives the plain last point.
    ``box_first`` takes SmoothAdv's order of clipping and projecting (see :class:`Ball`).
    """

    name: ClassVar[str] = "pgd"
    words: ClassVar[str] = "PGD"

    steps: int = 10
    step_size: float | None = None
    restarts: int = 1
    random_start: bool = True
    loss: Literal["ce", "margin"] = "ce"
    box_first: bool = False

    def __post_init__(self) -> None:
        """Check the counts, and that a restart can differ from the first start."""
        super().__post_init__()
        object.__setattr__(self, "step_size", read_step("pgd", self.step_size, self.eps))
        if self.steps < 1 or self.restarts < 1:
            raise InputError(f"attack: steps={self.steps}, restarts={self.restarts}; expected 1 or more")
        if self.loss not in LOSSES:
            raise InputError(f"attack: loss is '{self.loss}'; expected one of {', '.join(LOSSES)}")
        if self.restarts > 1 and not self.random_start:
            raise InputError("attack: restarts without random_start all begin at one point; switch it on")

    @property
    def step(self) -> float:
        """The step that is used: the one given, or ``2.5 * eps / steps``."""
        return self._usual_step if self.step_size is None else self.step_size

    @property
    def passes(self) -> float:
        """A pass for each step, and three forwards to judge each further restart."""
        return self.restarts * self.steps + (self.restarts - 1) * 4 / 3

    @property
    def ball(self) -> Ball:
        """Where the attack may go, in its order of clipping and projecting."""
        return replace(super().ball, box_first=self.box_first)

    @property
    def title(self) -> str:
        """``PGD ℓ∞ ε=8/255 10 steps 5 restarts``; ``PGD ℓ2 ε=2 4 steps, step 1, from x``."""
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        restarts = f" {self.restarts} restarts" if self.restarts > 1 else ""
        return ", ".join([f"{super().title} {steps}{restarts}", *self._other_walk])

    @property
    def label(self) -> str:
        """``{attack}-{norm}-{eps}-{steps}``, with ``-r{restarts}`` where there are several.

        A length of step that is not the usual one adds ``-step-{length}``, a start at the input ``-from-x``.
        """
        restarts = [f"r{self.restarts}"] if self.restarts > 1 else []
        walk = [words.replace(" ", "-") for words in self._other_walk]
        return "-".join([super().label, str(self.steps), *restarts, *walk])

    @property
    def _usual_step(self) -> float:
        return usual_step("pgd", self.eps, self.steps)

    @property
    def _other_walk(self) -> list[str]:
        from_x = type(self).random_start and not self.random_start
        return other_walk(self.step_size, self._usual_step, from_x=from_x)

    def strength(self) -> tuple[bool, str]:
        """Several restarts are taken for strong."""
        return (True, f"{self.restarts} restarts") if self.restarts >= MANY_RESTARTS else super().strength()

    def in_many_steps(self) -> PGD:
        """The attack itself from one start, where it takes several steps."""
        return replace(self, restarts=1) if self.steps > 1 else super().in_many_steps()

    def with_eps(self, eps: float) -> Self:
        """The same attack at another radius; a step that was given grows and shrinks with it."""
        if self.step_size is None:
            return super().with_eps(eps)
        return replace(self, eps=eps, step_size=step_at(self.step_size, before=self.eps, after=eps))

    def parameters(self) -> dict[str, Any]:
        """Every parameter, with the step that is used in place of None."""
        return super().parameters() | {"step_size": self.step}

    def score(self, model: Classifier, x: Tensor, y: Tensor) -> Tensor:
        """What is climbed, for each sample: the cross-entropy or the margin."""
        return LOSSES[self.loss](model(x), y)

    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """The best of the restarts for each image; later ones run only on images not yet fooled."""
        best = self.climb(model, x, y, generator=generator)
        for _ in range(self.restarts - 1):
            left = (~fooled(model, best, y)).nonzero().squeeze(1)
            if len(left) == 0:
                break
            again = self.climb(model, x[left], y[left], generator=generator)
            best[left] = self._better(model, best[left], again, y[left])
        return best

    def climb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """One run of the loop from one start."""
        return ascend(
            lambda point: self.score(model, point, y),
            x,
            self.ball.random_start(x, generator=generator) if self.random_start else x,
            ball=self.ball,
            steps=self.steps,
            step_size=self.step,
            generator=generator,
        )

    def _better(self, model: Classifier, old: Tensor, new: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            won = fooled(model, new, y) | (self.score(model, new, y) > self.score(model, old, y))
        return torch.where(won.reshape(-1, *[1] * (old.dim() - 1)), new, old)


@dataclass(frozen=True, kw_only=True)
class FGSM(PGD):
    """One step of length eps along the gradient from the input itself (Goodfellow et al.)."""

    name: ClassVar[str] = "fgsm"
    words: ClassVar[str] = "FGSM"

    steps: int = field(default=1, init=False)
    step_size: float | None = field(default=None, init=False)
    restarts: int = field(default=1, init=False)
    random_start: bool = field(default=False, init=False)
    box_first: bool = field(default=False, init=False)

    @property
    def step(self) -> float:
        """The whole radius."""
        return self.eps
