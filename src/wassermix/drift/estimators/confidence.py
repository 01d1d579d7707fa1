"""Estimates from confidence alone: its mean, and how far that mean has fallen."""

from __future__ import annotations

from typing import Self

import numpy as np

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["AverageConfidence", "ConfidenceDifference", "SourceAccuracy"]


class SourceAccuracy:
    """No estimate at all: the accuracy on the reference."""

    def fit(self, reference: Reference) -> Self:
        """Keep the reference's accuracy."""
        self.accuracy = reference.accuracy
        return self

    def chances(self, new: View) -> Floats:
        """The same for every sample."""
        return np.full(len(new), self.accuracy)


class AverageConfidence:
    """AC: the largest probability, temperature-scaled on the reference, taken at its word."""

    def fit(self, reference: Reference) -> Self:
        """Keep the reference's temperature."""
        self.reference = reference
        return self

    def chances(self, new: View) -> Floats:
        """``max_c p_c`` of each sample."""
        confidence: Floats = self.reference.probabilities(new).max(axis=1)
        return confidence


class ConfidenceDifference:
    """DoC: the reference's accuracy less the fall of the mean confidence (Guillory et al., 2021)."""

    def fit(self, reference: Reference) -> Self:
        """Keep by how much the reference's confidence misses its accuracy."""
        self.reference = reference
        self.gap = reference.accuracy - float(reference.chances.max(axis=1).mean())
        return self

    def chances(self, new: View) -> Floats:
        """``max_c p_c`` of each sample, moved by the reference's gap."""
        moved: Floats = np.clip(self.reference.probabilities(new).max(axis=1) + self.gap, 0, 1)
        return moved
