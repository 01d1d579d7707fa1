"""Compiled loops of the noise: Philox words, uniform numbers, and integer draws of a rounded Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from wassermix.core.jit import EXACT, compiled

__all__ = ["draw_rounded", "fill_uniform", "fill_words"]

U64 = npt.NDArray[np.uint64]

# Philox4x32-10 (Salmon et al., SC 2011): multipliers, key increments, and the mask of one word
M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
WORD, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
SECOND = np.uint64(1 << 8)
"""The bit of the counter's last word that marks the further bits of a draw, apart from its first 16."""


@njit(inline="always")
def _philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    for _ in range(10):
        p0, p1 = M0 * c0, M1 * c2
        c0, c1 = (p1 >> SHIFT) ^ c1 ^ k0, p1 & WORD
        c2, c3 = (p0 >> SHIFT) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + W0) & WORD, (k1 + W1) & WORD
    return c0, c1, c2, c3


@compiled(EXACT)
def fill_words(key: U64, out: npt.NDArray[np.uint32]) -> None:
    """Fill ``out (4m,)``: word ``4i + j`` is word ``j`` of the block with counter ``(i, *key[2:])``.

    ``key`` holds the two words of Philox's key and the counter's last three.
    """
    for i in range(out.shape[0] // 4):
        a, b, c, d = _philox(np.uint64(i), key[2], key[3], key[4], key[0], key[1])
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = a, b, c, d


@compiled(EXACT)
def fill_uniform(words: npt.NDArray[np.uint32], out: npt.NDArray[Any]) -> None:
    """``(floor(word / 2) + 1/2) / 2^31`` in the precision of ``out``: never 0, at most 1."""
    for i in range(out.shape[0]):
        out[i] = (np.int32(words[i] >> np.uint32(1)) + 0.5) * 2.0**-31


@njit(inline="always")
def _search(low: Any, high: Any, top: Any, rest: Any, thresholds: Any) -> Any:
    """The number of thresholds that are at most ``(top, rest)``, known to lie in ``low .. high``."""
    while low < high:
        middle = (low + high) >> 1
        upper = thresholds[0, middle]
        if upper < top or (upper == top and thresholds[1, middle] <= rest):
            low = middle + 1
        else:
            high = middle
    return low


@compiled(EXACT)
def draw_rounded(
    key: U64,
    words: npt.NDArray[np.uint32],
    first: npt.NDArray[Any],
    thresholds: U64,
    x: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    values: npt.NDArray[Any],
    place: npt.NDArray[np.int64],
    out: npt.NDArray[Any],
) -> None:
    """Write ``values[clip(x + J)]`` for fresh draws J around one input ``x (d,)`` into ``out (rows, d)``.

    Draw number e takes its first ``known`` bits, 16 or 32, from half a word or a whole one, and the other
    bits of its 128 from a counter of its own, made only where they matter: ``first[b] .. first[b + 1]``
    are the outcomes that the first 16 bits leave open, by the 128-bit ``thresholds (2, m)``. ``ends``
    holds the smallest J, the two ends of the clip, and ``known``; ``place`` says where in a row
    coordinate c is stored.
    """
    size, half = x.shape[0], ends[3] == 16
    for row in range(out.shape[0]):
        for c in range(size):
            e = row * size + c
            if half:
                prefix = np.uint64((words[e >> 1] >> np.uint32(16 * (e & 1))) & np.uint32(0xFFFF))
                top = prefix << np.uint64(48)
            else:
                prefix = np.uint64(words[e])
                top = prefix << SHIFT
            bucket = top >> np.uint64(48)
            outcome, last = np.int64(first[bucket]), np.int64(first[bucket + np.uint64(1)])
            if outcome < last and not half:  # 16 more bits are known, and nearly always enough
                outcome = _search(outcome, last, top, np.uint64(0), thresholds)
                if outcome < last and thresholds[0, outcome] >> SHIFT != prefix:
                    last = outcome
            if outcome < last:
                p, q, r, s = _philox(np.uint64(e), key[2], key[3], key[4] | SECOND, key[0], key[1])
                top |= (p << np.uint64(16)) | (q >> np.uint64(16)) if half else p
                rest = (r << SHIFT) | s if half else (q << SHIFT) | r
                outcome = _search(outcome, last, top, rest, thresholds)
            value = min(max(x[c] + outcome + ends[0], ends[1]), ends[2])
            out[row, place[c]] = values[value - ends[1]]
