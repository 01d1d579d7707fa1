"""Random pairing: the control that shows what the plan contributes."""

from __future__ import annotations

from typing import Self

import numpy as np

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["RandomPairing"]


class RandomPairing:
    """Every new sample gets the label of a random reference sample; here in expectation."""

    def fit(self, reference: Reference) -> Self:
        """Keep the shares of the classes."""
        self.shares = np.bincount(reference.labels, minlength=reference.num_classes) / len(reference)
        return self

    def chances(self, new: View) -> Floats:
        """The share of the class that the model decides for."""
        return self.shares[new.predicted]
