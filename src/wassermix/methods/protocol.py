"""What is asked of a training method, and the one place that asks for what it need not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch

__all__ = ["Counting", "Method", "Perturbation", "counting_of", "current", "passes_at", "perturbation"]
__all__ += ["teacher_of"]

OWN_TEACHER = "own"
"""A method that learns from no other network."""


@runtime_checkable
class Method(Protocol):
    """Which loss for this batch?

    A method is any object with these three; it needs no base class. Options are keyword-only constructor
    arguments of plain types, so that a config can set them. What a method may have besides, each with the
    same effect as in a shipped one:

    - ``reference``: a line for ``wassermix methods``;
    - ``one_view = True``: the network sees one copy of each sample once: mixing in a hidden layer needs it;
    - ``needs_images = True``: refused beforehand on samples that are no images;
    - ``perturb(model, batch)``: see :class:`Adversarial`;
    - ``at(progress)``: see :class:`Changing`;
    - ``teacher``: see :class:`Taught`;
    - ``counting``: see :class:`TaughtBeforehand`.
    """

    @property
    def sigma(self) -> float:
        """The noise that the method trains for, 0 where none: certification's default."""
        ...

    @property
    def passes(self) -> float:
        """Forward+backward passes of the network that one sample costs in one step."""
        ...

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """Named scalar terms, already weighted: the training loss is their sum.

        The model arrives in train mode and leaves in it. Inner searches run on it in eval mode with
        frozen parameters; the forward that is trained is, where the formula allows it, a single one
        over all copies, so that batch statistics see everything at once.
        """
        ...


@runtime_checkable
class Adversarial(Protocol):
    """A method that trains on inputs moved by an attack of its own.

    Augmenters that look for the worst place then judge samples as the method would train on them. The price
    of one call is ``perturb_passes`` for each sample, or ``passes`` less the one of the step itself where
    the method does not say.
    """

    def perturb(self, model: Classifier, batch: Batch, /) -> Tensor:
        """The inputs that are trained on in place of ``batch.x``, same shape, without a graph."""
        ...


@runtime_checkable
class PricedPerturbation(Protocol):
    """An adversarial method that says what its perturbation costs."""

    @property
    def perturb_passes(self) -> float:
        """Forward+backward passes that :meth:`Adversarial.perturb` costs for each sample."""
        ...


@runtime_checkable
class Changing(Protocol):
    """A method that is another one at different times of training."""

    def at(self, progress: float, /) -> tuple[Method, float]:
        """The method in force at this share of training, and the share of its own time that is done."""
        ...


@runtime_checkable
class Taught(Protocol):
    """A method that learns from another network, which each batch then brings."""

    @property
    def teacher(self) -> str:
        """``own`` (none), ``average`` (the weights' moving average) or a run's folder."""
        ...


@dataclass(frozen=True)
class Counting:
    """How a teacher votes on every training sample, once, before the first step."""

    sigma: float
    """The noise under which it votes."""
    draws: int
    """Votes for each sample."""

    @property
    def passes(self) -> float:
        """For each training sample: a forward, a third of a pass, for each vote."""
        return self.draws / 3


@runtime_checkable
class TaughtBeforehand(Protocol):
    """A taught method whose teacher votes before training; each batch then brings the votes."""

    @property
    def counting(self) -> Counting | None:
        """How it votes; None where each step asks the teacher itself."""
        ...


@runtime_checkable
class InBall(Protocol):
    """A method that moves inputs inside a ball."""

    @property
    def norm(self) -> str:
        """``l2`` or ``linf``."""
        ...

    @property
    def eps(self) -> float:
        """The ball's radius on the data scale."""
        ...


@dataclass(frozen=True)
class Perturbation:
    """A method's own attack at one time of training."""

    attack: Callable[[Classifier, Tensor, Tensor], Tensor]
    passes: float
    """Forward+backward passes for each sample."""


def current(method: Method, progress: float) -> tuple[Method, float]:
    """The method in force at this share of training, and its own share."""
    return method.at(progress) if isinstance(method, Changing) else (method, progress)


def passes_at(method: Method, progress: float) -> float:
    """Passes that one sample costs when ``progress`` (0 to 1) of the training is done."""
    return float(current(method, progress)[0].passes)


def perturbation(
    method: Method, progress: float, generator: torch.Generator | None = None
) -> Perturbation | None:
    """The attack that a method trains on at this share of training; None where it has none."""
    now, share = current(method, progress)
    if not isinstance(now, Adversarial):
        return None
    adversary = now

    def attack(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
        return adversary.perturb(model, Batch(x=x, y=y, progress=share, generator=generator))

    if isinstance(now, PricedPerturbation):
        return Perturbation(attack, float(now.perturb_passes))
    return Perturbation(attack, max(now.passes - 1.0, 0.0))


def teacher_of(method: Method) -> str:
    """The name of the network that a method learns from."""
    return method.teacher if isinstance(method, Taught) else OWN_TEACHER


def counting_of(method: Method) -> Counting | None:
    """How a method's teacher votes before training; None where it does not."""
    return method.counting if isinstance(method, TaughtBeforehand) else None
