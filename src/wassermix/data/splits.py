"""Splits: the samples of one part of a data set, kept small until a batch asks for them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from wassermix.core.errors import InputError
from wassermix.data.protocol import Split, is_streamed

__all__ = ["SubsetSplit", "TensorSplit", "batches"]

Batch = tuple[Tensor, Tensor, Tensor]


class TensorSplit:
    """A split in memory: ``x (n, *shape)`` uint8 (0..255, read as [0,1]) or float32, ``y (n,)`` int64."""

    streamed = False

    def __init__(self, x: Tensor, y: Tensor) -> None:
        assert x.dtype in (torch.uint8, torch.float32)
        assert y.dtype == torch.int64
        assert len(x) == len(y)
        self.x = x
        self.y = y
        self.shape: tuple[int, ...] = tuple(x.shape[1:])

    def __len__(self) -> int:
        return len(self.y)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices``: picked as they are stored, then converted at once."""
        x = self.x.index_select(0, indices)
        return x.float().div_(255) if x.dtype == torch.uint8 else x


class SubsetSplit:
    """Some samples of another split, without a copy: sample ``i`` is ``split``'s ``indices[i]``."""

    def __init__(self, split: Split, indices: Tensor) -> None:
        self.split = split
        self.indices = indices
        self.y = split.y[indices]
        self.shape = split.shape
        self.streamed = is_streamed(split)

    def __len__(self) -> int:
        return len(self.indices)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices`` of this subset."""
        return self.split.get(self.indices[indices])


def batches(split: Split, order: Tensor, *, batch_size: int, workers: int = 0) -> Iterator[Batch]:
    """Batches ``(indices, x, y)`` of ``split`` in the given ``order (m,)``; the last may be smaller.

    ``workers`` processes read ahead where samples are decoded from files; a split in memory needs none.
    """
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}; expected at least 1")
    chunks = list(order.split(batch_size)) if len(order) else []
    if workers > 0 and chunks and is_streamed(split):
        yield from _read_ahead(split, chunks, workers)
        return
    for chunk in chunks:
        yield chunk, split.get(chunk), split.y[chunk]


class _Chunks(TorchDataset[Batch | InputError]):
    """What a worker runs: one item is one whole batch."""

    def __init__(self, split: Split, chunks: list[Tensor]) -> None:
        self.split = split
        self.chunks = chunks

    def __len__(self) -> int:
        return len(self.chunks)

    def __getitem__(self, number: int) -> Batch | InputError:
        chunk = self.chunks[number]
        try:
            return chunk, self.split.get(chunk), self.split.y[chunk]
        except InputError as error:  # handed over as a value: raised here, a worker's traceback would join it
            return error


def _read_ahead(split: Split, chunks: list[Tensor], workers: int) -> Iterator[Batch]:
    unused = torch.Generator().manual_seed(0)  # else the loader draws from the global random state
    loader = DataLoader(_Chunks(split, chunks), batch_size=None, num_workers=workers, generator=unused)
    for item in loader:
        if isinstance(item, InputError):
            raise item
        yield item
