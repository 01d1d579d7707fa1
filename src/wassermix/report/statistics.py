"""Exact statistics of counts: intervals for a share of images, paired tests, and false certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Paired", "Share", "exact_interval", "holm", "paired_test", "share", "worst_false_count"]

LEVEL = 0.95
"""The level of every interval in a report."""


@dataclass(frozen=True)
class Share:
    """A share of images with its 95% interval, all in [0, 1]."""

    accuracy: float
    low: float
    high: float
    images: int


@dataclass(frozen=True)
class Paired:
    """Two runs on the same images: who alone is right, the difference second - first, and the exact p."""

    first_only: int
    second_only: int
    images: int
    p: float

    @property
    def difference(self) -> float:
        """Accuracy of the second run minus that of the first."""
        return (self.second_only - self.first_only) / self.images


def exact_interval(count: int, images: int, level: float = LEVEL) -> tuple[float, float]:
    """Clopper-Pearson's interval for a binomial share: coverage is never below ``level``."""
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, count, images - count + 1)) if count > 0 else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, images - count)) if count < images else 1.0
    return low, high


def share(count: int, images: int) -> Share:
    """``count`` of ``images`` with its exact 95% interval."""
    low, high = exact_interval(count, images)
    return Share(count / images, low, high, images)


def paired_test(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Paired:
    """McNemar's exact test: under no difference, the discordant images fall either way with chance 1/2."""
    first_only = int(np.sum(first & ~second))
    second_only = int(np.sum(second & ~first))
    discordant = first_only + second_only
    p = float(stats.binomtest(first_only, discordant).pvalue) if discordant else 1.0
    return Paired(first_only, second_only, len(first), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p: reject those below a level, and that level bounds the chance of any false one."""
    order = np.argsort(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def worst_false_count(images: int, alpha: float, level: float = LEVEL) -> int:
    """The number of false certificates among ``images`` that is not exceeded with probability ``level``.

    Each certificate is false with probability at most alpha, independently, so their number is
    stochastically below Binomial(images, alpha).
    """
    return int(stats.binom.ppf(level, images, alpha))
