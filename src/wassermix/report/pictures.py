"""Pictures along geodesics, put on a page as PNG sheets in data URIs."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

__all__ = ["Pictures", "budgeted_samples", "sheet"]

Pictures = Mapping[int, NDArray[np.uint8]]
"""Position of a pair -> ``(samples, times, C, H, W)``."""

BUDGET = 6 * 2**20
"""Bytes of pixels on one page, before PNG: what a mail attachment can carry."""
MOST_SAMPLES = 6


def sheet(frames: NDArray[np.uint8]) -> str:
    """Frames ``(samples, times, C, H, W)`` as one PNG: one row per sample, one column per time.

    Of images with other than one or three channels the first, or the first three, are shown.
    """
    samples, times, channels, height, width = frames.shape
    pixels = frames.transpose(0, 3, 1, 4, 2).reshape(samples * height, times * width, channels)
    image = Image.fromarray(pixels[..., 0] if channels < 3 else np.ascontiguousarray(pixels[..., :3]))
    buffer = BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def budgeted_samples(pictures: Pictures, share: float) -> tuple[int, int]:
    """How many samples per pair, and how many pairs, fit into ``share`` of the page's budget."""
    samples, *one = next(iter(pictures.values())).shape
    allowed = max(1, int(BUDGET * share / np.prod(one)))
    fitting = max(1, min(samples, MOST_SAMPLES, allowed // len(pictures)))
    return fitting, max(1, min(len(pictures), allowed // fitting))
