"""The frame around every attack: what it checks before, keeps during and guarantees after."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from wassermix.attacks.norms import Norm, check_norm, project
from wassermix.attacks.radius import Bounds, check_eps, parse_number
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.errors import InputError
from wassermix.core.labels import hard
from wassermix.core.streams import stream

__all__ = ["Attack", "BallAttack", "Judgement", "check_inputs", "fooled"]


@dataclass(frozen=True)
class Judgement:
    """What an attack did to some images: flags ``(n,)``, and what else it measured of each image."""

    clean: Tensor
    robust: Tensor
    extra: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """Find an input near ``x`` that the model gets wrong: ``attack(model, x, y) -> x_adv``.

    An author writes :meth:`perturb`; the call around it checks the inputs, puts the model into eval
    mode with frozen parameters, restores both, and confines the answer to where the attack may go.
    ``bounds=None`` is for vectors without a scale.
    """

    seed: int = 0
    bounds: Bounds = (0.0, 1.0)

    @property
    @abstractmethod
    def name(self) -> str:
        """The attack's name in reports and file names."""

    @property
    @abstractmethod
    def passes(self) -> float:
        """Forward + backward passes an image, at most; a forward alone counts a third."""

    @abstractmethod
    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """The attacked inputs; the model comes in eval mode with frozen parameters and gradients on."""

    def confine(self, x: Tensor, x_adv: Tensor) -> Tensor:
        """``x_adv`` brought back to where the attack may go: here the box."""
        return x_adv if self.bounds is None else x_adv.clamp(*self.bounds)

    def predict(self, model: Classifier, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """The classes ``(n,)`` that the attacked classifier gives; a smoothed one votes instead."""
        with torch.no_grad():
            return model(x).argmax(dim=1)

    def parameters(self) -> dict[str, Any]:
        """Every parameter that the number depends on, ready for JSON."""
        bounds = None if self.bounds is None else list(self.bounds)
        return {"attack": self.name, **asdict(self), "bounds": bounds}

    def judge(
        self,
        model: Classifier,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        alive: Tensor | None = None,
    ) -> Judgement:
        """Which images are right before and after; only those right before (and ``alive``) are attacked."""
        with evaluating(model):
            clean = self.predict(model, x, generator=generator) == hard(y)
            left = (clean if alive is None else clean & alive.to(clean.device)).nonzero().squeeze(1)
            robust = torch.zeros_like(clean)
            if len(left):
                x_adv = self(model, x[left], y[left], generator=generator)
                robust[left] = self.predict(model, x_adv, generator=generator) == hard(y[left])
        return Judgement(clean, robust)

    def summary(self, extra: dict[str, Tensor]) -> dict[str, Any]:
        """What the measurements of all images come to, for the result file."""
        return {}

    def details(self, shape: tuple[int, ...], num_classes: int) -> dict[str, Any]:
        """What else the number depends on, once the inputs are known."""
        return {}

    @property
    def label(self) -> str:
        """The name of the attack's file unless the user gives one."""
        return self.name

    def check(self, x: Tensor, y: Tensor) -> None:
        """Refuse inputs that this attack cannot mean."""
        check_inputs(x, y, self.bounds)

    def __call__(
        self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Attack ``x (n, ...)`` with labels ``y (n,)`` or ``(n, k)``; without a generator the seed's own."""
        self.check(x, y)
        if len(x) == 0:
            return x.clone()
        generator = generator or stream(self.seed, "attack")
        with torch.inference_mode(False), torch.enable_grad(), evaluating(model), frozen(model):
            # Copies, because tensors made in inference mode cannot take part in a gradient.
            x_adv = self.perturb(model, x.detach().clone(), y.detach().clone(), generator=generator)
        return self.confine(x, x_adv.detach())


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
        object.__setattr__(self, "eps", parse_number(self.eps))  # a config may say "8/255"
        check_norm(self.norm)
        self._check_eps(None)

    def _check_eps(self, dimension: int | None) -> None:
        check_eps(self.eps, self.norm, bounds=self.bounds, dimension=dimension, allow_any=self.allow_any_eps)

    def check(self, x: Tensor, y: Tensor) -> None:
        """Refuse inputs off scale, and an l2 radius that reaches across the whole box."""
        super().check(x, y)
        if len(x):
            self._check_eps(dimension=x[0].numel())

    def confine(self, x: Tensor, x_adv: Tensor) -> Tensor:
        """Into the box, then into the ball: scaling down keeps a point inside a box that holds ``x``."""
        x_adv = super().confine(x, x_adv)
        return x_adv if math.isinf(self.eps) else x + project(x_adv - x, self.eps, self.norm)

    def with_eps(self, eps: float) -> Self:
        """The same attack at another radius."""
        return replace(self, eps=eps)

    @property
    def label(self) -> str:
        """``{attack}-{norm}-{eps}``."""
        return f"{self.name}-{self.norm}-{self.eps:.4g}"


def check_inputs(x: Tensor, y: Tensor, bounds: Bounds) -> None:
    """Refuse inputs off their scale and labels that do not fit them."""
    if not x.is_floating_point():
        raise InputError(f"attack: inputs are {x.dtype}; expected floats on the data scale, images / 255")
    if y.dim() not in (1, 2) or len(y) != len(x):
        raise InputError(
            f"attack: {len(x)} inputs but labels of shape {tuple(y.shape)}; expected (n,) classes or (n, k) "
            "probabilities for the same n"
        )
    if len(x) == 0:
        return
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError("attack: the inputs hold NaN or infinite values; clean them first")
    if bounds is not None and (low < bounds[0] - 1e-6 or high > bounds[1] + 1e-6):
        raise InputError(
            f"attack: inputs run from {low:g} to {high:g}; expected [{bounds[0]:g}, {bounds[1]:g}]; put "
            "normalisation into the model's first layer, or pass bounds=None for vectors without a scale"
        )


def fooled(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
    """Whether the model's class differs from the label's: ``(n,)`` bool, no gradients, mode untouched."""
    with torch.no_grad():
        return model(x).argmax(dim=1) != hard(y)
