"""Exact sampling: integer draws of a Gaussian rounded to the grid of the images, no floating point.

What is certified is the classifier ``f(clip(round(z)))``: round to the grid, clip to a stated range, then
predict. For x on the grid ``round(x + noise) = x + round(noise)``, so the integer ``J = round(noise / h)``
is drawn from its own law ``P(J <= j) = Phi((j + 1/2) h / sigma)``, by comparing random bits with
thresholds of 128 proven digits. The votes then have the law of exact Gaussian smoothing at every point of
the grid (up to ``2^-128`` for each outcome), and the certified radius holds between points of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wassermix.certify.fixedpoint import BITS, normal_thresholds
from wassermix.certify.noise import NoiseKey, random_words

__all__ = ["CLIP", "GRIDS", "RoundedGaussian", "clip_margin", "grid_of", "lies_on", "rounded_gaussian"]

GRIDS = (255, 65535)
"""Steps per unit of the grids that image files have: 8 and 16 bits a value."""
CLIP = 6
"""The range of the certified classifier's input: so many sigma beyond [0, 1] on both sides."""


def grid_of(x: Tensor) -> int | None:
    """The coarsest of :data:`GRIDS` that all values of ``x`` lie on, within [0, 1]; None if there is none."""
    return next((levels for levels in GRIDS if lies_on(x, levels)), None)


def lies_on(x: Tensor, levels: int) -> bool:
    """Whether all values of ``x`` are in [0, 1] and on the grid of ``levels`` steps per unit.

    On a grid means to be the float32 nearest to ``k / levels``, as a reader of image files makes it.
    """
    x = x.detach().cpu().float()
    if x.numel() and (float(x.min()) < 0 or float(x.max()) > 1):
        return False
    return torch.equal((x.double() * levels).round().div_(levels).float(), x)


@dataclass(frozen=True, eq=False)
class RoundedGaussian:
    """The law of ``round(sigma * levels * normal)``, and the classifier's clip, as tables of integers."""

    sigma: float
    levels: int
    low: int
    high: int
    """The ends of the clip, in steps of the grid."""
    smallest: int
    """The smallest outcome: from the brightest value it leads to the lower end of the clip, or below."""
    thresholds: npt.NDArray[np.uint64]
    """``floor(2^128 P(J <= smallest + i))`` as two words, (2, m)."""
    first: npt.NDArray[Any]
    """The number of thresholds below ``b 2^112``, for b = 0, ..., 2^16."""

    @property
    def known(self) -> int:
        """Bits that a draw looks at first: 16 decide nearly always among the outcomes of an 8-bit grid."""
        return 16 if self.first.dtype == np.int16 else 32

    def fill(self, key: NoiseKey, x: Tensor, out: Tensor) -> None:
        """Noisy copies of ``x (...)`` on the grid into ``out (rows, ...)`` on the CPU, any dense layout."""
        from wassermix.certify.kernels import draw_rounded  # numba, only where noise is drawn

        rows, steps = len(out), self.steps(x)
        place = _places(out[0])
        flat = out.as_strided((rows, out[0].numel()), (out.stride(0), 1))
        draw_rounded(
            key.words(),
            random_words(key, -(-rows * len(steps) * self.known // 32)),
            self.first,
            self.thresholds,
            steps,
            np.array([self.smallest, self.low, self.high, self.known]),
            self.values(flat.numpy().dtype),
            place,
            flat.numpy(),
        )

    def steps(self, x: Tensor) -> npt.NDArray[np.int64]:
        """``x`` in steps of the grid, flat."""
        return np.asarray((x.detach().cpu().double().reshape(-1) * self.levels).round().long().numpy())

    def values(self, dtype: npt.DTypeLike) -> npt.NDArray[np.floating]:
        """What the model is given for each step from ``low`` to ``high``: ``k / levels``."""
        return (np.arange(self.low, self.high + 1) / self.levels).astype(dtype)


@lru_cache(maxsize=8)
def rounded_gaussian(sigma: float, levels: int) -> RoundedGaussian:
    """The tables for noise ``sigma`` on a grid of ``levels`` steps per unit; computed once."""
    step = Fraction(1, levels) / Fraction(sigma)
    margin = clip_margin(sigma, levels)
    low, high = -margin, levels + margin
    upper = normal_thresholds(step, high)
    lower = [(1 << BITS) - 1 - threshold for threshold in reversed(upper)]
    words = np.array([divmod(threshold, 1 << 64) for threshold in lower + upper], dtype=np.uint64).T.copy()
    # counts fit 16 bits on 8-bit grids, and a small table stays in the cache
    kind = np.int16 if words.shape[1] < 2**15 else np.int32
    buckets = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
    first = np.append(np.searchsorted(words[0], buckets, side="left"), words.shape[1]).astype(kind)
    return RoundedGaussian(sigma, levels, low, high, -high, words, first)


def clip_margin(sigma: float, levels: int) -> int:
    """How many steps beyond [0, 1] the certified classifier's input may be: ``floor(6 sigma levels)``."""
    return int(CLIP * Fraction(sigma) * levels)


def _places(row: Tensor) -> npt.NDArray[np.int64]:
    """Where coordinate c of a row (in the order of its shape) is stored."""
    order = torch.zeros(row.shape, dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(row.shape, row.stride())):
        shape = [size if i == axis else 1 for i in range(row.ndim)]
        order += (torch.arange(size) * stride).reshape(shape)
    return np.asarray(order.reshape(-1).numpy())
