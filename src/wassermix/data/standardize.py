"""Vectors in standard deviations: the scale on which noise, attacks and radii of tables live.

Columns of a table have units of their own. Noise of one size for all of them, distances between rows and
certified radii only mean something once the columns are on one scale. So the data are standardised when they
are loaded, not inside the model: ``sigma``, ``eps`` and radii are then numbers of standard deviations, for
every model, and the embedding and the pairing see that scale too. Mean and deviation come from the training
split as the file gives it, before ``data.holdout`` and ``data.train_size`` take their part: the unit of a
radius does not change with them.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.data.dataset import Dataset, Statistics, split_statistics
from wassermix.data.protocol import Split, is_streamed

__all__ = ["StandardSplit", "noting", "standardized", "unlike_scales"]

UNLIKE = 10.0  # deviations of columns that differ by more than this factor are not one scale


class StandardSplit:
    """A split whose samples are handed out as ``(x - mean) / std``, column by column."""

    def __init__(self, split: Split, statistics: Statistics) -> None:
        self.split = split
        self.mean, self.std = (torch.tensor(part, dtype=torch.float64) for part in statistics)
        self.y, self.shape, self.streamed = split.y, split.shape, is_streamed(split)

    def __len__(self) -> int:
        return len(self.split)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices (m,)``, float32 ``(m, d)``."""
        return ((self.split.get(indices).double() - self.mean) / self.std).float()


def standardized(data: Dataset) -> Dataset:
    """Vectors in standard deviations of the training columns; ``data.scale`` keeps mean and deviation."""
    if data.kind != "vector":
        raise InputError(
            f"data.standardize is for vectors; '{data.name}' holds images, which stay on [0,1]: leave it out"
        )
    scale = split_statistics(data.train, limit=len(data.train))
    width = data.shape[0]
    note = (
        f"{width} column{'s' if width > 1 else ''} standardised by the training split: noise, eps and radii "
        "are in standard deviations (data.standardize=false keeps the columns' own units)"
    )
    train, test = StandardSplit(data.train, scale), StandardSplit(data.test, scale)
    unit = ((0.0,) * width, (1.0,) * width)
    return noting(dataclasses.replace(data, train=train, test=test, scale=scale, known_statistics=unit), note)


def unlike_scales(train: Split) -> str:
    """A sentence where the deviations of the columns differ so much that one noise cannot fit all."""
    deviations = [value for value in split_statistics(train)[1] if value > 0]
    low, high = min(deviations), max(deviations)
    if high <= UNLIKE * low:
        return ""
    return (
        f"columns have standard deviations from {low:.3g} to {high:.3g}: one sigma or eps cannot fit "
        "them all; data.standardize=true puts them on one scale"
    )


def noting(data: Dataset, sentence: str) -> Dataset:
    """The data with a sentence more in their note."""
    if not sentence:
        return data
    return dataclasses.replace(data, note=f"{data.note}; {sentence}" if data.note else sentence)
