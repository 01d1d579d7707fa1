"""ATC: the share of samples whose confidence is above a threshold fitted on the reference."""

from __future__ import annotations

from typing import Self

import numpy as np

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["ThresholdedConfidence"]


class ThresholdedConfidence:
    """ATC with maximum confidence (Garg et al., 2022).

    The threshold leaves as large a share of the reference above it as the model gets right there.
    """

    def fit(self, reference: Reference) -> Self:
        """Find the threshold."""
        self.reference = reference
        ordered = np.sort(reference.chances.max(axis=1))
        wrong = round((1 - reference.accuracy) * len(ordered))
        self.threshold = float(ordered[wrong - 1]) if wrong else -np.inf
        return self

    def chances(self, new: View) -> Floats:
        """1 where the confidence exceeds the threshold, else 0."""
        above: Floats = (self.reference.probabilities(new).max(axis=1) > self.threshold).astype(np.float64)
        return above
