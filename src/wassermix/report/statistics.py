"""Shares of images with their intervals, and the correction for many tests on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wassermix.certify import wilson_interval

__all__ = ["Share", "holm", "share"]


@dataclass(frozen=True)
class Share:
    """A share of images with its 95% interval, all in [0, 1]."""

    accuracy: float
    low: float
    high: float
    images: int


def share(count: int, images: int) -> Share:
    """``count`` of ``images`` with Wilson's 95% interval, as the evaluations store it."""
    low, high = wilson_interval(count, images)
    return Share(count / images, low, high, images)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p: reject those below a level, and that level bounds the chance of any false one."""
    order = np.argsort(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
