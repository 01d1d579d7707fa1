"""Shares of images with their intervals."""

from __future__ import annotations

from torch import Tensor

from wassermix.core.intervals import wilson_interval

__all__ = ["share"]


def share(flags: Tensor) -> dict[str, float | int]:
    """The share of images whose flag is set, with its 95% Wilson interval; ``flags (n,)``, n > 0."""
    count, images = int(flags.sum()), len(flags)
    low, high = wilson_interval(count, images)
    return {"accuracy": count / images, "low": low, "high": high, "count": count, "images": images}
