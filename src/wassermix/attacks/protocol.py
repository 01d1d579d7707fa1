"""What an attack is, and the frame around every one: what it checks before, keeps and promises after."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from wassermix.attacks.norms import Bounds
from wassermix.core.classifier import Classifier, evaluating, frozen, logits_of
from wassermix.core.errors import InputError
from wassermix.core.labels import checked, hard
from wassermix.core.samples import LabelledSamples
from wassermix.core.streams import stream

__all__ = ["Attack", "Judgement", "check_classes", "check_inputs", "fooled"]


@dataclass(frozen=True)
class Judgement:
    """What an attack did to some images: flags ``(n,)``, and what else it measured of each image."""

    clean: Tensor
    robust: Tensor
    extra: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """Find an input near ``x`` that the model gets wrong: ``attack(model, x, y) -> x_adv``.

    An author writes :meth:`perturb` and :attr:`passes`, and gives the class a ``name``; the call around it
    checks the inputs, puts the model into eval mode with frozen parameters, restores both, and confines the
    answer to where the attack may go. The dataclass's fields are the attack's options on the command line
    and in tables, its parameters in result files, and what must agree before two numbers may stand in one
    table. Everything else has a default. ``bounds=None`` is for vectors without a scale.
    """

    seed: int = 0
    bounds: Bounds = (0.0, 1.0)

    name: ClassVar[str] = "own"
    """The attack's name in files and on the command line."""
    words: ClassVar[str] = ""
    """The same for readers; the name where it is empty."""
    incidental: ClassVar[frozenset[str]] = frozenset({"seed", "bounds", "allow_any_eps"})
    """Fields that may differ between two numbers in one table."""

    @property
    @abstractmethod
    def passes(self) -> float:
        """Forward + backward passes per image, at most; a forward alone counts a third."""

    @abstractmethod
    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """The attacked inputs; the model comes in eval mode with frozen parameters and gradients on."""

    @property
    def title(self) -> str:
        """The attack with its strength in a few words, for tables and pages."""
        return self.words or self.name

    @property
    def label(self) -> str:
        """The name of the attack's file unless the user gives one."""
        return self.name

    @property
    def identity_keys(self) -> tuple[str, ...]:
        """The parameters that two numbers must share to stand in one table."""
        return ("attack", *(item.name for item in fields(self) if item.name not in self.incidental))

    def parameters(self) -> dict[str, Any]:
        """Every parameter that the number depends on, ready for JSON."""
        bounds = None if self.bounds is None else list(self.bounds)
        return {"attack": self.name, **asdict(self), "bounds": bounds}

    def details(self, shape: tuple[int, ...], num_classes: int) -> dict[str, Any]:
        """What else the number depends on, once the inputs are known."""
        return {}

    def strength(self) -> tuple[bool, str]:
        """Whether the number is more than an upper bound, and a sentence about it."""
        return True, "the worst of the points tried; it says nothing about a ball around them"

    def prepare(self, train: LabelledSamples) -> Self:
        """The attack ready for use; one that learns from training samples does so here."""
        return self

    def confine(self, x: Tensor, x_adv: Tensor) -> Tensor:
        """``x_adv`` brought back to where the attack may go: here the box."""
        return x_adv if self.bounds is None else x_adv.clamp(*self.bounds)

    def predict(self, model: Classifier, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """The classes ``(n,)`` that the attacked classifier gives; a smoothed one votes instead."""
        with torch.no_grad():
            return logits_of(model, x).argmax(dim=1)

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
            check_classes(model, x, y)
            left = (clean if alive is None else clean & alive.to(clean.device)).nonzero().squeeze(1)
            robust = torch.zeros_like(clean)
            if len(left):
                x_adv = self(model, x[left], y[left], generator=generator)
                robust[left] = self.predict(model, x_adv, generator=generator) == hard(y[left])
        return Judgement(clean, robust)

    def summary(self, extra: dict[str, Tensor]) -> dict[str, Any]:
        """What the measurements of all images come to, for the result file."""
        return {}

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
            y = check_classes(model, x, y)  # a dictionary or NaN gets its sentence here, not deep inside
            # Copies, because tensors made in inference mode cannot take part in a gradient.
            x_adv = self.perturb(model, x.detach().clone(), y.detach().clone(), generator=generator)
        return self.confine(x, x_adv.detach())


def check_inputs(x: Tensor, y: Tensor, bounds: Bounds) -> None:
    """Refuse inputs off their scale and labels that do not fit them."""
    for what, value in (("inputs", x), ("labels", y)):
        if not isinstance(value, Tensor):
            raise InputError(
                f"attack: the {what} are a {type(value).__name__}; expected a tensor, torch.as_tensor({what})"
            )
    if not x.is_floating_point():
        raise InputError(f"attack: inputs are {x.dtype}; expected floats on the data scale, images / 255")
    checked(y, count=len(x))
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


def check_classes(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
    """The labels; those that the model has no output for are refused, as they would count as its errors."""
    with torch.no_grad():
        outputs = logits_of(model, x[:1].clone()).shape[1]
    return checked(y, outputs, count=len(x))


def fooled(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
    """Whether the model's class differs from the label's: ``(n,)`` bool, no gradients, mode untouched."""
    with torch.no_grad():
        return model(x).argmax(dim=1) != hard(y)
