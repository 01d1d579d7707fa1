"""Intervals and paired tests for shares of images: what a count out of so many says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

__all__ = [
    "PairedComparison",
    "Share",
    "compare_paired",
    "exact_interval",
    "holm",
    "share_of",
    "wilson_interval",
]


@dataclass(frozen=True)
class Share:
    """A share of images with its 95% interval."""

    accuracy: float
    low: float
    high: float
    images: int

    @property
    def count(self) -> int:
        """How many images it stands for."""
        return round(self.accuracy * self.images)


def share_of(count: int, images: int) -> Share:
    """``count`` of ``images`` with Wilson's 95% interval."""
    low, high = wilson_interval(count, images)
    return Share(count / images, low, high, int(images))


def wilson_interval(count: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a share of ``total`` independent images."""
    result = stats.binomtest(int(count), int(total)).proportion_ci(confidence, method="wilson")
    return float(result.low), float(result.high)


def exact_interval(count: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided exact (Clopper-Pearson) interval for a share of ``total`` independent images."""
    result = stats.binomtest(int(count), int(total)).proportion_ci(confidence, method="exact")
    return float(result.low), float(result.high)


@dataclass(frozen=True)
class PairedComparison:
    """Two classifiers (or certifiers) on the same images: who is right where the other is not."""

    both: int
    first_only: int
    second_only: int
    neither: int
    difference: float
    """Share of the first minus share of the second."""
    low: float
    high: float
    p_value: float
    """Exact McNemar: a two-sided binomial test of the discordant images at 1/2."""


def compare_paired(
    first: npt.ArrayLike, second: npt.ArrayLike, *, confidence: float = 0.95
) -> PairedComparison:
    """Compare two boolean vectors over the same images.

    The interval of the difference is Agresti and Min's (2005): Wald's after half an image has been
    added to each cell of the two-by-two table.
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if a.shape != b.shape or a.ndim != 1 or a.size == 0:
        raise ValueError(f"a paired comparison needs two equal vectors of flags; got {a.shape} and {b.shape}")
    first_only, second_only = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    discordant = first_only + second_only
    p_value = float(stats.binomtest(first_only, discordant).pvalue) if discordant else 1.0
    total, plus, minus = a.size + 2.0, first_only + 0.5, second_only + 0.5
    centre = (plus - minus) / total
    half = stats.norm.ppf(0.5 + confidence / 2) * np.sqrt((plus + minus) / total - centre**2) / np.sqrt(total)
    return PairedComparison(
        both=int(np.sum(a & b)), first_only=first_only, second_only=second_only,
        neither=int(np.sum(~a & ~b)), difference=(first_only - second_only) / a.size,
        low=float(centre - half), high=float(centre + half), p_value=p_value,
    )  # fmt: skip


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for being several (Holm 1979), in their order.

    With ``p_(1) <= ... <= p_(m)`` the i-th becomes ``max_{j <= i} min(1, (m - j + 1) p_(j))``: rejecting
    those below 0.05 rejects any true hypothesis with probability at most 0.05, however the tests depend.
    """
    order = np.argsort(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
