"""Samples by index: the one protocol that data splits, stored sets and a user's own data share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = [
    "LabelledSamples",
    "Samples",
    "TensorSamples",
    "evenly_spaced",
    "require_finite",
    "warn_of_missing_classes",
]


@runtime_checkable
class Samples(Protocol):
    """A set of samples that are read when they are needed."""

    def __len__(self) -> int: ...

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices (m,)`` as floats ``(m, *shape)`` on the data scale ([0,1] for images)."""


@runtime_checkable
class LabelledSamples(Samples, Protocol):
    """Samples with a class for each."""

    @property
    def y(self) -> Tensor:
        """Labels ``(n,)`` int64."""


class TensorSamples:
    """Samples held in memory: ``x (n, ...)`` floats on their data scale, ``y (n,)`` classes."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        if len(x) != len(y):
            raise InputError(f"there are {len(x)} samples but {len(y)} labels; expected one label per sample")
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices``."""
        return self.x[indices]


def evenly_spaced(total: int, images: int | None) -> list[int]:
    """``images`` indices evenly spaced over ``total`` (500 of 10,000 is every 20th); all of them for None."""
    if images is None or images >= total:
        return list(range(total))
    if images < 1:
        raise InputError(f"images is {images}; expected at least 1, or all")
    return [position * total // images for position in range(images)]


def warn_of_missing_classes(labels: Tensor, indices: Sequence[int]) -> None:
    """Warn where samples at ``indices`` lack a class that by its share of ``labels (n,)`` should be there.

    Evenly spaced samples of a file that holds its classes in turn (0, 1, 0, 1, ...) may all be of one.
    """
    classes, counts = labels.unique(return_counts=True)
    chosen = labels[torch.as_tensor(indices)].unique()
    lacking = (counts * (len(indices) / len(labels)) >= CLEARLY) & ~torch.isin(classes, chosen)
    if bool(lacking.any()):
        names = ", ".join(map(str, classes[lacking].tolist()))
        warnings.warn(
            f"the {len(indices)} samples that are judged hold none of class {names}, to which "
            f"{int(counts[lacking].sum())} of the {len(labels)} belong: evenly spaced samples of a file that "
            "holds its classes in turn are no fair choice; judge all of them, or shuffle the file",
            stacklevel=2,
        )


CLEARLY = 15
"""A class of which so many are expected among samples chosen at random lacks once in three million times."""


def require_finite(x: Tensor, indices: Sequence[int]) -> None:
    """Refuse samples ``x (m, ...)`` with NaN or infinite values, naming the first by its index."""
    finite = torch.isfinite(x).flatten(1).all(dim=1)
    if not bool(finite.all()):
        first = int((~finite).nonzero()[0, 0])
        raise InputError(f"sample {indices[first]} holds NaN or infinite values; fix or remove it")
