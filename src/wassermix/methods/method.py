"""What a training method is: named loss terms for a batch, and what they cost."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch

__all__ = ["Method"]


@runtime_checkable
class Method(Protocol):
    """Which loss for this batch?

    A method is any object with these three; it needs no base class. Options are keyword-only
    constructor arguments of plain types, so that a config can set them.

    Two optional class attributes say more: ``reference`` (a line for ``wassermix methods``) and
    ``one_view`` (True where the network sees one copy of each sample once, which is what mixing in a
    hidden layer needs).
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
