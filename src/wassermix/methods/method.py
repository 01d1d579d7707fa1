"""What a training method is: named loss terms for a batch, and what they cost."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch

__all__ = ["Method", "passes_at"]


@runtime_checkable
class Method(Protocol):
    """Which loss for this batch?

    A method is any object with these three; it needs no base class. Options are keyword-only
    constructor arguments of plain types, so that a config can set them.

    Optional attributes say more: ``reference`` (a line for ``wassermix methods``), ``one_view`` (True
    where the network sees one copy of each sample once, which is what mixing in a hidden layer needs),
    ``passes_at(progress)`` (where the cost changes during training) and ``teacher`` (which network a
    batch brings to learn from: ``own``, ``average`` or a run's folder).
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


def passes_at(method: Method, progress: float) -> float:
    """Passes that one sample costs when ``progress`` (0 to 1) of the training is done."""
    changing = getattr(method, "passes_at", None)
    return float(method.passes if changing is None else changing(progress))
