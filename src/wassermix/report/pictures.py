"""Pictures along geodesics: read from an audit, and put on a page as PNG sheets in data URIs."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wassermix.core.errors import InputError
from wassermix.report.checking import MEND

__all__ = ["Pictures", "budgeted_samples", "read_pictures", "sheet"]

Pictures = Mapping[int, NDArray[np.uint8]]
"""Position of a pair -> ``(samples, times, C, H, W)``."""

BUDGET = 6 * 2**20
"""Bytes of pixels on one page, before PNG: what a mail attachment can carry."""
MOST_SAMPLES = 6


def sheet(frames: NDArray[np.uint8]) -> str:
    """Frames ``(samples, times, C, H, W)`` as one PNG: a row a sample, a column a time."""
    samples, times, channels, height, width = frames.shape
    pixels = frames.transpose(0, 3, 1, 4, 2).reshape(samples * height, times * width, channels)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels)
    buffer = BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def budgeted_samples(pictures: Pictures, share: float) -> tuple[int, int]:
    """How many samples a pair, and how many pairs, fit into ``share`` of the page's budget."""
    samples, *one = next(iter(pictures.values())).shape
    allowed = max(1, int(BUDGET * share / np.prod(one)))
    fitting = max(1, min(samples, MOST_SAMPLES, allowed // len(pictures)))
    return fitting, max(1, min(len(pictures), allowed // fitting))


def read_pictures(path: Path, pairs: Sequence[tuple[str, str]]) -> tuple[Pictures, NDArray[np.float64]]:
    """The pictures beside an audit, by position among ``pairs``; an audit of vectors has none.

    The archive holds ``frames (p, samples, times, C, H, W)`` uint8, the times ``t``, and in ``pairs (p, 2)``
    which classes they join; without the latter they follow the order of the audit.
    """
    stored = _arrays(path) if path.exists() else {}
    if "frames" not in stored:
        return {}, np.zeros(0)
    frames = stored["frames"]
    if frames.dtype != np.uint8 or frames.ndim != 6 or frames.shape[3] not in (1, 3):
        raise InputError(
            f"'{path}': frames are {frames.dtype} of shape {frames.shape}, expected uint8 of shape "
            f"(pairs, samples, times, 1 or 3 channels, height, width); {MEND}"
        )
    joined = [(str(a), str(b)) for a, b in stored["pairs"]] if "pairs" in stored else list(pairs)
    if len(joined) != len(frames) or not set(joined) <= set(pairs):
        raise InputError(f"'{path}': its {len(frames)} pairs are not those of the audit beside it; {MEND}")
    times = stored["t"] if "t" in stored else np.linspace(0, 1, frames.shape[2])
    if times.shape != frames.shape[2:3]:
        raise InputError(f"'{path}': {len(times)} times for {frames.shape[2]} pictures; {MEND}")
    return {pairs.index(ends): part for ends, part in zip(joined, frames)}, times.astype(np.float64)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {key: stored[key] for key in ("frames", "pairs", "t") if key in stored}
    except (OSError, ValueError, BadZipFile, EOFError) as error:
        raise InputError(f"'{path}' cannot be read ({error}); {MEND}") from error
