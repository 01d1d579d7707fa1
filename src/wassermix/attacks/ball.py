"""The ball around an input: how large it may be, how to stay inside, and the attacks that do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from wassermix.attacks.norms import Bounds, Norm, check_norm, project, random_in_ball
from wassermix.attacks.protocol import Attack
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.labels import cross_entropy
from wassermix.core.settings import read_number, spell_number

if TYPE_CHECKING:
    from wassermix.attacks.pgd import PGD

__all__ = ["Ball", "BallAttack", "check_eps"]


@dataclass(frozen=True)
class Ball:
    """The inputs within ``eps`` of one in a norm and inside the box ``bounds``; ``eps=inf`` leaves the box.

    Points come back into the ball, then into the box, the order of foolbox and of most others; ``box_first``
    clips before it projects as well, as SmoothAdv does, which keeps more of an l2 step that leaves the box.
    Either order ends inside both.
    """

    eps: float
    norm: Norm = "linf"
    bounds: Bounds = (0.0, 1.0)
    box_first: bool = False

    def into_box(self, x: Tensor) -> Tensor:
        """``x`` clipped to the box."""
        return x if self.bounds is None else x.clamp(*self.bounds)

    def bring_back(self, x: Tensor, moved: Tensor) -> Tensor:
        """``moved (n, ...)`` brought back to the ball around ``x`` and into the box."""
        if self.box_first:
            moved = self.into_box(moved)
        return self.into_box(self._into_ball(x, moved))

    def into_both(self, x: Tensor, moved: Tensor) -> Tensor:
        """Into the box, then into the ball: scaling down keeps a point inside a box that holds ``x``."""
        return self._into_ball(x, self.into_box(moved))

    def random_start(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """A random point of the ball for each sample, inside the box; ``x`` itself where eps is infinite."""
        if math.isinf(self.eps):
            return x
        return self.into_box(x + random_in_ball(x, self.eps, self.norm, generator=generator))

    def _into_ball(self, x: Tensor, moved: Tensor) -> Tensor:
        return moved if math.isinf(self.eps) else x + project(moved - x, self.eps, self.norm)


@dataclass(frozen=True, kw_only=True)
class BallAttack(Attack):
    """An attack within ``eps`` of the input in a norm.

    ``allow_any_eps`` admits a ball that holds every input, which is otherwise refused.
    """

    eps: float = 8 / 255
    norm: Norm = "linf"
    allow_any_eps: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked before an input is seen."""
        object.__setattr__(self, "eps", read_number(self.eps))  # a config may say "8/255"
        check_norm(self.norm)
        self._check_eps(None)

    @property
    def title(self) -> str:
        """``PGD ℓ∞ ε=8/255``."""
        return f"{super().title} {'ℓ∞' if self.norm == 'linf' else 'ℓ2'} ε={spell_number(self.eps)}"

    @property
    def label(self) -> str:
        """``{attack}-{norm}-{eps}``."""
        return f"{self.name}-{self.norm}-{self.eps:.4g}"

    @property
    def ball(self) -> Ball:
        """Where the attack may go."""
        return Ball(self.eps, self.norm, self.bounds)

    def strength(self) -> tuple[bool, str]:
        """A single run from a single start leaves room for a stronger one."""
        return False, f"{UPPER_BOUND}; run autoattack, or 5 restarts"

    def score(self, model: Classifier, x: Tensor, y: Tensor) -> Tensor:
        """What is climbed, for each sample: here the cross-entropy."""
        return cross_entropy(model(x), y)

    def in_many_steps(self) -> PGD:
        """The gradient attack of several steps that the sanity checks set beside this one."""
        from wassermix.attacks.pgd import PGD

        return PGD(
            eps=self.eps, norm=self.norm, seed=self.seed, bounds=self.bounds, allow_any_eps=self.allow_any_eps
        )

    def with_eps(self, eps: float) -> Self:
        """The same attack at another radius."""
        return replace(self, eps=eps)

    def check(self, x: Tensor, y: Tensor) -> None:
        """Refuse inputs off scale, and an l2 radius that reaches across the whole box."""
        super().check(x, y)
        if len(x):
            self._check_eps(dimension=x[0].numel())

    def confine(self, x: Tensor, x_adv: Tensor) -> Tensor:
        """Into the box and the ball."""
        return self.ball.into_both(x, x_adv)

    def _check_eps(self, dimension: int | None) -> None:
        check_eps(self.eps, self.norm, bounds=self.bounds, dimension=dimension, allow_any=self.allow_any_eps)


UPPER_BOUND = "this accuracy is an upper bound: a stronger attack may find more"


def check_eps(
    eps: float, norm: Norm, *, bounds: Bounds, dimension: int | None, allow_any: bool = False
) -> None:
    """Refuse a radius whose ball holds every input: no classifier could resist it.

    On inputs in [0,1] with ``d`` entries that is ``eps >= 1`` in linf and ``eps >= sqrt(d)`` in l2, which
    is not asked while the dimension is unknown (None).
    """
    if not eps >= 0:
        raise InputError(f"attack: eps is {eps}; expected a radius of 0 or more")
    if bounds is None or allow_any or (norm == "l2" and dimension is None):
        return
    widest = (bounds[1] - bounds[0]) * (1.0 if norm == "linf" else math.sqrt(dimension or 0))
    if eps >= widest:
        raise InputError(
            f"attack: eps is {eps:g} in {norm}, but inputs in [{bounds[0]:g}, {bounds[1]:g}] "
            f"lie at most {widest:g} apart, so the ball holds every input; "
            + (_LINF_HINT if norm == "linf" else "eps is on the data scale, not on 0-255: write 128/255; ")
            + "to attack without a limit on purpose set allow_any_eps (--allow-any-eps)"
        )


_LINF_HINT = (
    "eps is on the data scale: write 8/255; the 'linf 2.0' of the paper's MNIST tables was "
    "an l2 radius, norm='l2'; "
)
