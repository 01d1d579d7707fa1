"""A data set: its splits and what a model, a report and a reader need to know about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from wassermix.core.streams import stream
from wassermix.data.protocol import Split
from wassermix.data.splits import SubsetSplit
from wassermix.data.stratify import part_away, stratified

__all__ = ["Dataset", "hold_out", "shrink", "split_statistics"]

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Dataset:
    """Everything about a data set; ``kind`` is ``image`` (values in [0,1]) or ``vector`` (any values)."""

    name: str
    train: Split
    test: Split
    num_classes: int
    kind: Literal["image", "vector"]
    holdout: Split | None = None
    note: str = ""
    class_names: tuple[str, ...] = ()
    known_statistics: Statistics | None = None
    scale: Statistics | None = None
    """Mean and deviation of each column that the samples were standardised by; None: they were not."""
    columns: tuple[str, ...] = ()
    """The names of a table's inputs, in the order of the vector."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample: ``(C, H, W)`` or ``(d,)``."""
        return self.train.shape

    def statistics(self) -> Statistics:
        """Mean and standard deviation (a channel, or a feature) for the model's first layer.

        The field's published values where there are some, 0 and 1 for grey images, else measured on
        the training split.
        """
        if self.known_statistics is not None:
            return self.known_statistics
        if self.kind == "image" and self.shape[0] == 1:
            return (0.0,), (1.0,)
        return split_statistics(self.train)


def split_statistics(split: Split, *, limit: int = 10_000) -> Statistics:
    """Mean and standard deviation of each channel or feature over at most ``limit`` evenly spaced samples.

    A constant channel or feature gets the deviation 1, so that dividing by it changes nothing.
    """
    order = torch.arange(0, len(split), max(1, -(-len(split) // limit)))
    count, total, squares = 0, torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    first = split.get(order[:1]).double()
    centre = first.mean(dim=[0, *range(2, first.dim())])  # shifted sums: no cancellation for far-off features
    for chunk in order.split(1000):
        x = (
            split.get(chunk).double().transpose(0, 1).flatten(1) - centre[:, None]
        )  # (channels, samples * pixels)
        count, total, squares = count + x.shape[1], total + x.sum(1), squares + x.square().sum(1)
    mean = total / count
    deviation = (squares / count - mean.square()).clamp_min(0).sqrt()
    deviation[deviation <= 1e-8 * (1 + centre.abs())] = 1
    return tuple((mean + centre).tolist()), tuple(deviation.tolist())


def hold_out(data: Dataset, share: float, seed: int) -> Dataset:
    """Move a stratified ``share`` of the training split into ``holdout``, the same one for the same seed."""
    if share == 0:
        return data
    kept, away = part_away(data.train.y, share, seed=seed, what="data.holdout")
    return dataclasses.replace(data, train=_subset(data.train, kept), holdout=_subset(data.train, away))


def shrink(data: Dataset, train_size: int | None, seed: int) -> Dataset:
    """Keep a stratified ``train_size`` of the training split, the same one for the same seed."""
    if train_size is None or train_size == len(data.train):
        return data
    kept = stratified(data.train.y, train_size, stream(seed, "train_size"), what="data.train_size")
    return dataclasses.replace(data, train=_subset(data.train, kept))


def _subset(split: Split, indices: Tensor) -> Split:
    if isinstance(split, SubsetSplit):  # one level of indices is enough
        return SubsetSplit(split.split, split.indices[indices])
    return SubsetSplit(split, indices)
