"""Certification noise: a function of (seed, purpose, image, block) through a counter-based generator.

Philox maps a 64-bit key and a 128-bit counter to four words. The seed is the key; image, block, purpose
and position are parts of the counter, none of them hashed, so no two draws ever share their bits. The
bits are made on the CPU, whatever device runs the model: they are the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = ["NoiseKey", "Purpose", "gaussian", "unit"]

Purpose = Literal["pick", "count", "predict", "bound"]
_NUMBER = {"pick": 0, "count": 1, "predict": 2, "bound": 3}
_IMAGES, _BLOCKS = 2**40, 2**32


@dataclass(frozen=True, slots=True)
class NoiseKey:
    """Which noise: the ``block``-th of image ``index``, for one purpose, under one seed."""

    seed: int
    purpose: Purpose
    index: int
    block: int

    def __post_init__(self) -> None:
        if not (0 <= self.index < _IMAGES and 0 <= self.block < _BLOCKS):
            raise InputError(
                f"certify: noise for image {self.index}, block {self.block}; expected an index from 0 to "
                f"{_IMAGES - 1} and a block from 0 to {_BLOCKS - 1}"
            )

    def words(self) -> npt.NDArray[np.uint64]:
        """Philox's key (two words) and the counter's words 1 to 3; word 0 counts positions."""
        seed = self.seed % 2**64
        high, low = divmod(self.index, 2**32)
        parts = (seed % 2**32, seed >> 32, self.block, low, high << 16 | _NUMBER[self.purpose])
        return np.array(parts, dtype=np.uint64)


def random_words(key: NoiseKey, count: int) -> npt.NDArray[np.uint32]:
    """At least ``count`` random words (a multiple of four)."""
    from wassermix.certify.kernels import fill_words  # numba, only where noise is drawn

    out = np.empty(-(-count // 4) * 4, dtype=np.uint32)
    fill_words(key.words(), out)
    return out


def unit(key: NoiseKey) -> float:
    """One number in (0, 1), a multiple of ``2^-53`` plus half of it."""
    high, low = (int(word) for word in random_words(key, 2)[:2])
    return ((high << 21 | low >> 11) + 0.5) * 2.0**-53


def gaussian(key: NoiseKey, out: Tensor) -> Tensor:
    """Fill the contiguous ``out`` (an even number of values) with standard normal ones, by Box and Muller.

    Floating point makes these only nearly Gaussian; :mod:`wassermix.certify.discrete` draws without it.
    """
    from wassermix.certify.kernels import fill_uniform

    kind: Any = np.float64 if out.dtype == torch.float64 else np.float32
    uniform = np.empty(out.numel(), dtype=kind)
    fill_uniform(random_words(key, out.numel()), uniform)
    radius, angle = torch.from_numpy(uniform).to(out.device).chunk(2)
    radius = radius.log_().mul_(-2).sqrt_()
    angle = angle.mul_(2 * math.pi)
    first, second = out.view(-1).chunk(2)
    torch.mul(radius, torch.cos(angle), out=first)
    torch.mul(radius, torch.sin(angle), out=second)
    return out
