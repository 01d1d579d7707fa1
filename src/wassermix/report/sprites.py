"""Pictures along geodesics as PNG sheets: a row a sample, a column a time, as data URIs."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

__all__ = ["budgeted_samples", "sheet"]

BUDGET = 6 * 2**20
"""Bytes of pixels on one page, before PNG: what a mail attachment can carry."""


def sheet(frames: NDArray[np.uint8]) -> str:
    """Frames ``(samples, times, C, H, W)`` as one PNG of ``samples`` x ``times`` pictures."""
    samples, times, channels, height, width = frames.shape
    pixels = frames.transpose(0, 3, 1, 4, 2).reshape(samples * height, times * width, channels)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
    buffer = BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def budgeted_samples(frames: NDArray[np.uint8], share: float) -> tuple[int, int]:
    """How many samples a pair, and how many pairs, fit into ``share`` of the page's budget."""
    pairs, samples, *one = frames.shape
    picture = int(np.prod(one))
    allowed = max(1, int(BUDGET * share / picture))
    fitting = max(1, min(samples, 6, allowed // max(pairs, 1)))
    return fitting, max(1, min(pairs, allowed // fitting))
