"""The joint cost between labelled reference samples and new ones: inputs, features, outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from wassermix.core.errors import InputError
from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, Ints, View

__all__ = ["JointCost", "Weights"]


@dataclass(frozen=True)
class Weights:
    """How much inputs, features and outputs count in the joint cost."""

    input: float = 1.0
    feature: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        if min(self.values) < 0 or sum(self.values) <= 0:
            raise InputError(f"drift: weights {self.values}; expected none below 0 and one above")

    @property
    def values(self) -> tuple[float, float, float]:
        """``(input, feature, output)``."""
        return self.input, self.feature, self.output


class JointCost:
    """``C_ij = a |z_i - z_j|^2 / s_z + b |h_i - h_j|^2 / s_h + c (1 - p(y_i | x_j)) / s_p``.

    ``a + b + c = 1``; ``z`` are components of the inputs, ``h`` of the features, ``p`` the model's
    probabilities. Each part is divided by its mean ``s`` between the reference's halves, so that without
    drift all weigh as they are weighted, and the mean cost is 1.
    """

    def __init__(self, reference: Reference, weights: Weights) -> None:
        self.reference = reference
        total = sum(weights.values)
        self.weights = tuple(value / total for value in weights.values)
        first, second = reference.halves
        parts = self._parts(first, reference.view.rows(second))
        # a part that is 0 between the halves (one class, constant inputs) tells nothing and stays 0
        self.scales = tuple(float(part.mean()) or 1.0 if part is not None else 1.0 for part in parts)

    def between(self, index: Ints, new: View, *, moved: bool = False) -> Floats:
        """The cost ``(len(index), m)`` between reference samples ``index`` and the new ones.

        With ``moved`` the reference is moved as a whole until its means are those of the new data.
        """
        parts = self._parts(index, new, moved=moved)
        weighted = (w * part / s for w, part, s in zip(self.weights, parts, self.scales) if part is not None)
        whole: Floats = np.sum(list(weighted), axis=0)
        return whole

    def _parts(self, index: Ints, new: View, *, moved: bool = False) -> list[Floats | None]:
        """The three parts, None where one has no weight."""
        view = self.reference.view
        spaces = ((view.inputs, new.inputs), (view.features, new.features))
        parts: list[Floats | None] = [
            cdist(_placed(old[index], young, moved), young, "sqeuclidean") if weight else None
            for weight, (old, young) in zip(self.weights, spaces)
        ]
        if not self.weights[2]:
            return [*parts, None]
        return [*parts, 1 - self.reference.probabilities(new)[:, self.reference.labels[index]].T]


def _placed(old: Floats, young: Floats, moved: bool) -> Floats:
    return old + (young.mean(axis=0) - old.mean(axis=0)) if moved else old
