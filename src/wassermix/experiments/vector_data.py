"""Small tables of vectors that pip brings, and three rings in the plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream_seed

__all__ = ["VECTORS", "VectorSplit", "load_vectors", "rings"]

Table = tuple[NDArray[np.float64], NDArray[np.int64]]
TRAIN, TEST = 200, 300


@dataclass(frozen=True)
class VectorSplit:
    """Training and test rows, standardised by the training rows: ``x (n, d)``, ``y (n,)``."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1


def rings(count: int, *, generator: np.random.Generator) -> Table:
    """Three rings around one centre, radii 1, 2 and 3, one class each: ``(count, 2)`` and ``(count,)``.

    The straight way between two points of the outer rings leads through the inner one, unless they are near.
    """
    y = np.arange(count) % 3
    angle = generator.uniform(0, 2 * np.pi, count)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return circle * (1 + y)[:, None] + 0.15 * generator.standard_normal((count, 2)), y


def _sklearn(name: str) -> Callable[[int], Table]:
    def load(seed: int) -> Table:
        try:
            from sklearn import datasets
        except ImportError as error:
            raise InputError(
                f"the table '{name}' comes with scikit-learn; pip install scikit-learn"
            ) from error
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.int64)

    return load


def _rings(seed: int) -> Table:
    return rings(TRAIN + TEST, generator=np.random.default_rng(stream_seed(seed, "rings")))


VECTORS: dict[str, Callable[[int], Table]] = {
    "iris": _sklearn("iris"),
    "wine": _sklearn("wine"),
    "breast_cancer": _sklearn("breast_cancer"),
    "digits": _sklearn("digits"),
    "rings": _rings,
}
"""Name -> rows and classes; the seed matters to those that are made."""


def load_vectors(name: str, seed: int) -> VectorSplit:
    """Half of the rows to train on (200 at most), of the rest 300 at most to test on."""
    x, y = VECTORS[name](seed)
    order = np.random.default_rng(stream_seed(seed, "vectors", name)).permutation(len(x))
    train, test = order[: min(TRAIN, len(x) // 2)], order[len(x) // 2 :][:TEST]
    mean, deviation = x[train].mean(axis=0), x[train].std(axis=0)
    z = torch.from_numpy((x - mean) / np.where(deviation > 0, deviation, 1.0)).float()
    labels = torch.from_numpy(y)
    return VectorSplit(z[train], labels[train], z[test], labels[test])
