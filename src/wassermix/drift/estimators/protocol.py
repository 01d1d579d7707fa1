"""What an estimator of accuracy without labels is."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["Estimator"]


@runtime_checkable
class Estimator(Protocol):
    """Fitted once on a labelled reference, it says of each new sample how likely the model is right there.

    The estimated accuracy is the mean of these chances; that of a class is their mean over the samples that
    the model puts into it.
    """

    def fit(self, reference: Reference) -> Self:
        """Prepare everything that does not depend on the new data."""

    def chances(self, new: View) -> Floats:
        """The chance ``(m,)`` that the model is right about each new sample, in [0, 1]."""
