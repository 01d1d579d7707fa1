"""Projected gradient ascent: one loop for FGSM, PGD in both norms, and the attacks built on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import torch
from torch import Tensor

from wassermix.attacks.base import BallAttack, fooled
from wassermix.attacks.norms import Norm, direction, project, random_in_ball
from wassermix.attacks.radius import Bounds, parse_number
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.labels import cross_entropy, hard

__all__ = ["FGSM", "PGD", "ascend", "input_gradient", "margin"]

Score = Callable[[Tensor], Tensor]
"""What an attack climbs: inputs ``(n, ...)`` to one number for each sample ``(n,)``."""


def margin(logits: Tensor, y: Tensor) -> Tensor:
    """``max_{c != y} z_c - z_y`` for each sample: positive where the classifier is wrong."""
    label = hard(y).reshape(-1, 1)
    others = logits.scatter(1, label, -math.inf).amax(dim=1)
    return others - logits.gather(1, label).squeeze(1)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"ce": cross_entropy, "margin": margin}


def input_gradient(score: Score, x: Tensor) -> Tensor:
    """The gradient of each sample's score at ``x``; zero where the score does not depend on it or is NaN."""
    x = x.detach().requires_grad_(True)
    values = score(x)
    if not values.requires_grad:
        return torch.zeros_like(x)
    (gradient,) = torch.autograd.grad(values.sum(), x, allow_unused=True)
    return torch.zeros_like(x) if gradient is None else torch.nan_to_num(gradient)


def ascend(
    score: Score,
    x: Tensor,
    start: Tensor,
    *,
    eps: float,
    norm: Norm,
    steps: int,
    step_size: float,
    bounds: Bounds = (0.0, 1.0),
    box_first: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Climb ``score`` from ``start`` inside the ball around ``x``: the last of ``steps`` points.

    ``x_{s+1} = clip(P_ball(x_s + step_size * direction(grad score(x_s))))``, the order of foolbox and
    of most others; ``box_first`` clips before it projects, as SmoothAdv does, which keeps more of an l2
    step that leaves the box. Either order ends inside both; ``eps=inf`` leaves only the box.
    """
    current = start.detach()
    for _ in range(steps):
        current = current + step_size * direction(input_gradient(score, current), norm, generator)
        if box_first:
            current = _into_box(current, bounds)
        current = _into_ball(current, x, eps, norm)
        current = _into_box(current, bounds)
    return current.detach()


def _into_ball(current: Tensor, x: Tensor, eps: float, norm: Norm) -> Tensor:
    return current if math.isinf(eps) else x + project(current - x, eps, norm)


def _into_box(current: Tensor, bounds: Bounds) -> Tensor:
    return current if bounds is None else current.clamp(*bounds)


@dataclass(frozen=True, kw_only=True)
class PGD(BallAttack):
    """Projected gradient ascent on the loss in an l2 or linf ball (Madry et al.), with restarts.

    The step is ``2.5 * eps / steps`` unless given. Of several restarts each image keeps the first
    that fools the model, else the one of the highest loss; ``restarts=1`` gives the plain last point.
    ``box_first`` takes SmoothAdv's order of clipping and projecting (see :func:`ascend`).
    """

    steps: int = 10
    step_size: float | None = None
    restarts: int = 1
    random_start: bool = True
    loss: Literal["ce", "margin"] = "ce"
    box_first: bool = False

    def __post_init__(self) -> None:
        """Check the counts, and that a restart can differ from the first start."""
        super().__post_init__()
        if self.step_size is not None:
            object.__setattr__(self, "step_size", parse_number(self.step_size))
        if self.step_size is not None and not self.step_size >= 0:
            raise InputError(f"attack: step_size is {self.step_size}; expected a length, not below 0")
        if self.steps < 1 or self.restarts < 1:
            raise InputError(f"attack: steps={self.steps}, restarts={self.restarts}; expected 1 or more")
        if self.loss not in LOSSES:
            raise InputError(f"attack: loss is '{self.loss}'; expected one of {', '.join(LOSSES)}")
        if self.restarts > 1 and not self.random_start:
            raise InputError("attack: restarts without random_start all begin at one point; switch it on")
        if self.step_size is None and math.isinf(self.eps):
            raise InputError("attack: an infinite eps needs a step_size; the default is 2.5 * eps / steps")

    @property
    def name(self) -> str:
        """``fgsm`` for a single step from the input itself, ``pgd`` otherwise."""
        return "fgsm" if self.steps == 1 and not self.random_start else "pgd"

    @property
    def step(self) -> float:
        """The step that is used: the one given, or ``2.5 * eps / steps``."""
        return 2.5 * self.eps / self.steps if self.step_size is None else self.step_size

    @property
    def passes(self) -> float:
        """A pass a step, and three forwards to judge each further restart."""
        return self.restarts * self.steps + (self.restarts - 1) * 4 / 3

    @property
    def label(self) -> str:
        """``{attack}-{norm}-{eps}-{steps}``, with ``-r{restarts}`` where there are several."""
        return f"{super().label}-{self.steps}" + (f"-r{self.restarts}" if self.restarts > 1 else "")

    def with_eps(self, eps: float) -> Self:
        """The same attack at another radius; a step that was given grows and shrinks with it.

        From ``eps=0`` there is nothing to scale: the step is the default one.
        """
        step = self.step_size
        scaled = None if step is None or self.eps == 0 else step * eps / self.eps
        return replace(self, eps=eps, step_size=scaled)

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
        start = x
        if self.random_start and not math.isinf(self.eps):
            start = x + random_in_ball(x, self.eps, self.norm, generator=generator)
            start = _into_box(start, self.bounds)
        return ascend(
            lambda point: self.score(model, point, y),
            x,
            start,
            eps=self.eps,
            norm=self.norm,
            steps=self.steps,
            step_size=self.step,
            bounds=self.bounds,
            box_first=self.box_first,
            generator=generator,
        )

    def _better(self, model: Classifier, old: Tensor, new: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            won = fooled(model, new, y) | (self.score(model, new, y) > self.score(model, old, y))
        return torch.where(won.reshape(-1, *[1] * (old.dim() - 1)), new, old)


def FGSM(
    *,
    eps: float = 8 / 255,
    norm: Norm = "linf",
    loss: Literal["ce", "margin"] = "ce",
    seed: int = 0,
    bounds: Bounds = (0.0, 1.0),
    allow_any_eps: bool = False,
) -> PGD:
    """One step of length eps along the gradient from the input itself (Goodfellow et al.)."""
    eps = parse_number(eps)
    return PGD(
        eps=eps,
        norm=norm,
        steps=1,
        step_size=eps,
        random_start=False,
        loss=loss,
        seed=seed,
        bounds=bounds,
        allow_any_eps=allow_any_eps,
    )
