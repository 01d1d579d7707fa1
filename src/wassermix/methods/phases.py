"""One method after another: plain noise first, then what costs more."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.registry import call_with, has_trait, keyword_options, typed_options
from wassermix.methods.batch import Batch
from wassermix.methods.options import require_range
from wassermix.methods.protocol import OWN_TEACHER, Counting, Method, counting_of, teacher_of
from wassermix.methods.registry import METHODS

__all__ = ["Phases"]

Section = dict[str, Any]


def _default_sections() -> list[Section]:
    return [{"name": "gaussian"}, {"name": "consistency"}]


@dataclass(frozen=True, kw_only=True)
class Phases:
    """A method that changes with the share of training: several methods, one after another.

    Each method sees its own phase as a whole training (``progress`` 0 to 1), so that its warm-up is a share
    of its phase. The sum of the loss's terms may jump from phase to phase.

    Args:
        sigma: the noise; that of each section too, where it sets none itself.
        sections: one config section for each phase, such as ``{name: consistency, weight: 10}``.
        until: the shares of training at which a phase ends, one fewer than sections.
    """

    sigma: float = 0.5
    sections: list[dict[str, Any]] = field(default_factory=_default_sections)
    until: list[float] = field(default_factory=lambda: [0.3])

    reference: ClassVar[str] = "composition of the methods above"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma)
        ends = [0.0, *self.until, 1.0]
        if len(self.until) != len(self.sections) - 1 or any(a >= b for a, b in itertools.pairwise(ends)):
            raise InputError(
                f"Phases: until is {self.until} for {len(self.sections)} sections; expected "
                f"{len(self.sections) - 1} growing shares between 0 and 1"
            )
        # A wrong section is refused here, since the methods are made.
        noises = {float(getattr(method, "sigma", 0.0)) for method in self.methods}
        if self.sigma not in noises:
            raise InputError(
                f"Phases: sigma is {self.sigma:g}, at which the network is judged, but the sections train at "
                f"{', '.join(f'{noise:g}' for noise in sorted(noises))}; expected sigma to be one of these"
            )

    @cached_property
    def methods(self) -> Sequence[Method]:
        """The method of each phase."""
        return tuple(_made(section, self.sigma) for section in self.sections)

    @property
    def passes(self) -> float:
        """The mean over a training whose phases are shares of its updates."""
        ends = [0.0, *self.until, 1.0]
        return sum((b - a) * method.passes for a, b, method in zip(ends, ends[1:], self.methods))

    @property
    def one_view(self) -> bool:
        """Whether every phase shows the network one copy of each sample once."""
        return all(has_trait(method, "one_view") for method in self.methods)

    @property
    def needs_images(self) -> bool:
        """Whether any phase works on images only."""
        return any(has_trait(method, "needs_images") for method in self.methods)

    @property
    def teacher(self) -> str:
        """The teacher of the phase that has one."""
        names = {teacher_of(method) for method in self.methods} - {OWN_TEACHER}
        if len(names) > 1:
            raise InputError(f"Phases: the sections name several teachers, {sorted(names)}; expected one")
        return names.pop() if names else OWN_TEACHER

    @property
    def counting(self) -> Counting | None:
        """How the teacher of the phase that has one votes before training."""
        found = {counting for method in self.methods if (counting := counting_of(method)) is not None}
        if len(found) > 1:
            raise InputError(
                f"Phases: the teacher would vote in {len(found)} ways; expected one: "
                "give the sections that name it the same sigma and draws"
            )
        return found.pop() if found else None

    def at(self, progress: float, /) -> tuple[Method, float]:
        """The method of the phase that ``progress`` falls into, and the share of it that is done."""
        phase = sum(progress >= end for end in self.until)
        ends = [0.0, *self.until, 1.0]
        return self.methods[phase], (progress - ends[phase]) / (ends[phase + 1] - ends[phase])

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms of the phase's method."""
        method, within = self.at(batch.progress)
        return method.loss(model, replace(batch, progress=within))


def _made(section: Mapping[str, Any], sigma: float) -> Method:
    options = dict(section)
    name = options.pop("name", None)
    if not isinstance(name, str) or name == "phases":
        known = ", ".join(one for one in METHODS.names() if one != "phases")
        raise InputError(f"Phases: a section names the method {name!r}; expected one of {known}")
    factory, what = METHODS.find(name), f"Phases: method '{name}'"
    if "sigma" in keyword_options(factory):
        options.setdefault("sigma", sigma)
    made: Method = call_with(factory, typed_options(factory, options, what=what), {}, what=what)
    return made
