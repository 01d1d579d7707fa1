"""One method after another: plain noise first, then what is dearer."""

from __future__ import annotations

import difflib
import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.methods.batch import Batch
from wassermix.methods.method import Method
from wassermix.methods.options import require_range
from wassermix.methods.teacher import OWN

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
        assert self.methods  # made now, so that a wrong section is refused at once

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
        return all(getattr(method, "one_view", False) for method in self.methods)

    @property
    def needs_images(self) -> bool:
        """Whether any phase works on images only."""
        return any(getattr(method, "needs_images", False) for method in self.methods)

    @property
    def teacher(self) -> str:
        """The teacher of the phase that has one."""
        names = {name for method in self.methods if (name := getattr(method, "teacher", OWN)) != OWN}
        if len(names) > 1:
            raise InputError(f"Phases: the sections name several teachers, {sorted(names)}; expected one")
        return names.pop() if names else OWN

    def passes_at(self, progress: float) -> float:
        """Passes of one sample in the phase that ``progress`` falls into."""
        return float(self.methods[self._phase(progress)].passes)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms of the phase's method."""
        phase = self._phase(batch.progress)
        ends = [0.0, *self.until, 1.0]
        within = (batch.progress - ends[phase]) / (ends[phase + 1] - ends[phase])
        return self.methods[phase].loss(model, replace(batch, progress=within))

    def _phase(self, progress: float) -> int:
        return sum(progress >= end for end in self.until)


def _made(section: Mapping[str, Any], sigma: float) -> Method:
    from wassermix.methods import METHODS

    options = dict(section)
    name = options.pop("name", None)
    if name not in METHODS or name == "phases":
        raise InputError(f"Phases: a section names the method {name!r}; expected one of {_known(METHODS)}")
    known = inspect.signature(METHODS[name]).parameters
    if "sigma" in known:
        options.setdefault("sigma", sigma)
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise InputError(f"Phases: {name} has no option '{key}'; {hint}expected one of {_known(known)}")
    return METHODS[name](**options)


def _known(names: Mapping[str, Any]) -> str:
    return ", ".join(sorted(set(names) - {"phases"}))
