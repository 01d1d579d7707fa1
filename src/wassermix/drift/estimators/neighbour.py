"""Nearest neighbour: a plan without any constraint on how often a reference sample is used."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["NearestNeighbour"]


class NearestNeighbour:
    """Whether the model's decision is the label of the nearest reference sample, in input space."""

    def fit(self, reference: Reference) -> Self:
        """Keep the reference."""
        self.reference = reference
        return self

    def chances(self, new: View) -> Floats:
        """1 where the nearest reference sample has the label that the model decides for, else 0."""
        nearest = cdist(self.reference.view.inputs, new.inputs, "sqeuclidean").argmin(axis=0)
        agrees: Floats = (self.reference.labels[nearest] == new.predicted).astype(np.float64)
        return agrees
