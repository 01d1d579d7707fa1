"""The judged samples in one file, so that a replay needs no data set."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples

__all__ = ["SAMPLES", "SampleFile", "write_samples"]

SAMPLES = "samples.npz"
"""Their place in a bundle."""
DAMAGE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a damaged archive or its arrays ends in, depending on where the damage is."""


def write_samples(path: Path, samples: LabelledSamples, indices: Sequence[int]) -> None:
    """Write ``x (m, ...)``, ``y (m,)`` and ``index (m,)`` of the samples at ``indices``.

    Values on the 8-bit grid are stored as bytes: exactly, at a quarter of the size.
    """
    rows = torch.as_tensor(sorted(set(indices)), dtype=torch.int64)
    x = samples.get(rows)
    with path.open("wb") as file:
        np.savez_compressed(file, x=_smallest(x).numpy(), y=samples.y[rows].numpy(), index=rows.numpy())


def _smallest(x: Tensor) -> Tensor:
    as_bytes = (255 * x).round()
    if bool((as_bytes >= 0).all() and (as_bytes <= 255).all()):
        packed = as_bytes.to(torch.uint8)
        if torch.equal(packed.float().div_(255), x):
            return packed
    return x


class SampleFile:
    """Samples of a bundle, by their index in the data set they came from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                x, y, index = (torch.from_numpy(stored[key]) for key in ("x", "y", "index"))
            if not len(x) == len(y) == len(index):
                raise ValueError(f"{len(x)} samples, {len(y)} labels, {len(index)} indices")
            self.x = x.float().div_(255) if x.dtype == torch.uint8 else x
            self.places = {int(number): place for place, number in enumerate(index)}
            self.y = torch.full((int(index.max()) + 1,), -1, dtype=torch.int64)
            self.y[index] = y.long()
        except DAMAGE as error:
            raise InputError(f"'{path}' holds no samples ({error}); the bundle is damaged") from error

    def __len__(self) -> int:
        return len(self.y)

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices`` of the original split; others are not in the file."""
        missing = [int(number) for number in indices if int(number) not in self.places]
        if missing:
            raise InputError(f"'{self.path}' does not hold sample {missing[0]}; the bundle is incomplete")
        return self.x[[self.places[int(number)] for number in indices]]
