"""The frame around every attack: what it checks before, keeps during and guarantees after."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from wassermix.attacks.norms import Norm, check_norm, project
from wassermix.attacks.radius import Bounds, check_eps, parse_number
from wassermix.errors import InputError
from wassermix.labels import hard
from wassermix.modes import Classifier, evaluating, frozen
from wassermix.streams import stream

__all__ = ["Attack", "check_inputs", "fooled", "onto"]


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """Find an input near ``x`` that the model gets wrong: ``attack(model, x, y) -> x_adv``.

    An author writes :meth:`perturb`; the call around it checks the inputs, puts the model into eval
    mode with frozen parameters, restores both, and projects the answer into the ball and the box.
    ``bounds=None`` is for vectors without a scale; ``allow_any_eps`` admits a ball that holds every input.
    """

    eps: float = 8 / 255
    norm: Norm = "linf"
    seed: int = 0
    bounds: Bounds = (0.0, 1.0)
    allow_any_eps: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked before an input is seen."""
        object.__setattr__(self, "eps", parse_number(self.eps))  # a config may say "8/255"
        check_norm(self.norm)
        if self.norm == "linf":
            check_eps(self.eps, "linf", bounds=self.bounds, dimension=1, allow_any=self.allow_any_eps)

    @property
    @abstractmethod
    def name(self) -> str:
        """The attack's name in reports and file names."""

    @property
    @abstractmethod
    def passes(self) -> float:
        """Forward + backward passes an image, at most."""

    @abstractmethod
    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """The attacked inputs; the model comes in eval mode with frozen parameters and gradients on."""

    def parameters(self) -> dict[str, Any]:
        """Every parameter that the number depends on, ready for JSON."""
        return {"attack": self.name, **asdict(self)}

    def __call__(
        self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Attack ``x (n, ...)`` with labels ``y (n,)`` or ``(n, k)``; without a generator the seed's own."""
        check_inputs(x, y, self.bounds)
        if len(x) == 0:
            return x.clone()
        check_eps(
            self.eps, self.norm, bounds=self.bounds, dimension=x[0].numel(), allow_any=self.allow_any_eps
        )
        generator = generator or stream(self.seed, "attack")
        with torch.inference_mode(False), torch.enable_grad(), evaluating(model), frozen(model):
            x_adv = self.perturb(model, x.detach().clone(), y.detach().clone(), generator=generator)
        return onto(x, x_adv.detach(), self)


def onto(x: Tensor, x_adv: Tensor, attack: Attack) -> Tensor:
    """``x_adv`` brought into the box and into the ball around ``x``, as every attack promises."""
    if attack.bounds is not None:
        x_adv = x_adv.clamp(*attack.bounds)
    return x_adv if math.isinf(attack.eps) else x + project(x_adv - x, attack.eps, attack.norm)


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
