"""Max pooling with ReLU, and the gradients of a convolution before them, compiled for the CPU.

Pooling by 2 passes one place of four on and ReLU cuts some of these: the gradient of the convolution's
output is zero elsewhere. So the backward kernels go through the pooled values and add, for each that was not
cut, one multiple of a patch (the weights' gradient) or of a kernel (the image's); a dense convolution would
multiply the zeros too. All arrays are float32 with channels last, ``(n, height, width, channels)``;
``place`` says which corner of its square a pooled value came from (0 to 3, row by row), or :data:`CUT`.

All that these functions call is in this file: Numba's cache notices no changes in others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wassermix.core.jit import FAST, compiled

__all__ = [
    "LANE",
    "pool",
    "pool_halves",
    "rows_to_input",
    "rows_to_weight",
    "windows_to_input",
    "windows_to_weight",
]

CORNERS = 4
CUT = CORNERS
"""The place of a pooled value that was not positive."""

LANE = 8
"""Rows of windows have so many numbers: a vector register, or a part of one, or two."""


@compiled(FAST)
def pool(z: Any, out: Any, place: Any) -> None:
    """``out = max(0, largest of each 2x2 square of z)``; the first of equal ones, as PyTorch; NaN stays."""
    count, height, width, channels = out.shape
    for n in range(count):
        for i in range(height):
            for j in range(width):
                above, below = z[n, 2 * i], z[n, 2 * i + 1]
                a, b, c, d = above[2 * j], above[2 * j + 1], below[2 * j], below[2 * j + 1]
                largest, where = out[n, i, j], place[n, i, j]
                for k in range(channels):
                    top, at = a[k], np.int32(0)
                    beats = (b[k] > top) | (b[k] != b[k])
                    top, at = b[k] if beats else top, np.int32(1) if beats else at
                    beats = (c[k] > top) | (c[k] != c[k])
                    top, at = c[k] if beats else top, np.int32(2) if beats else at
                    beats = (d[k] > top) | (d[k] != d[k])
                    top, at = d[k] if beats else top, np.int32(3) if beats else at
                    cut = top <= np.float32(0)
                    largest[k] = np.float32(0) if cut else top
                    where[k] = np.uint8(CUT) if cut else np.uint8(at)


@compiled(FAST)
def pool_halves(z: Any, out: Any, place: Any) -> None:
    """:func:`pool` for ``z`` in bfloat16 and ``out`` in float32, both given as the integers of their bits.

    Positive numbers are in the order of their bits, and negative ones are cut, whatever their order. So
    integers are compared, half as wide as float32, and a bfloat16's bits are the first half of a float32's.
    """
    count, height, width, channels = out.shape
    for n in range(count):
        for i in range(height):
            for j in range(width):
                above, below = z[n, 2 * i], z[n, 2 * i + 1]
                a, b, c, d = above[2 * j], above[2 * j + 1], below[2 * j], below[2 * j + 1]
                largest, where = out[n, i, j], place[n, i, j]
                for k in range(channels):
                    top, at = _order(a[k]), np.int16(0)
                    other = _order(b[k])
                    top, at = max(top, other), np.int16(1) if other > top else at
                    other = _order(c[k])
                    top, at = max(top, other), np.int16(2) if other > top else at
                    other = _order(d[k])
                    top, at = max(top, other), np.int16(3) if other > top else at
                    cut = top <= 0
                    largest[k] = np.int32(0) if cut else np.int32(top) << 16
                    where[k] = np.uint8(CUT) if cut else np.uint8(at)


@compiled(FAST)
def _order(bits: Any) -> Any:
    """A bfloat16's bits as a signed integer, without the sign of what is not a number: that comes last."""
    return np.int16(bits & 0x7FFF) if (bits < 0) & (bits > -128) else bits


@compiled(FAST)
def _add(out: Any, x: Any, factor: Any) -> None:
    for k in range(out.shape[0]):
        out[k] += factor * x[k]


@compiled(FAST)
def _add_patches(
    out: Any, to: Any, step: Any, x: Any, starts: Any, factors: Any, stride: Any, shape: Any
) -> None:
    """``out[to + u step + k] += sum over e of factors[e] x[starts[e] + u stride + k]`` for u, k in ``shape``.

    Flat arrays, four patches at a time, so that ``out`` is read and written a quarter as often. Places are
    unsigned: for signed ones Numba looks at each whether it counts from the end.
    """
    for e in range(0, len(starts), 4):
        o, a, b, c, d = to, starts[e], starts[e + 1], starts[e + 2], starts[e + 3]
        fa, fb, fc, fd = factors[e], factors[e + 1], factors[e + 2], factors[e + 3]
        for _ in range(shape[0]):
            for k in range(shape[1]):
                out[o + k] += fa * x[a + k] + fb * x[b + k] + fc * x[c + k] + fd * x[d + k]
            o, a, b, c, d = o + step, a + stride, b + stride, c + stride, d + stride


@compiled(FAST)
def _filled(starts: Any, factors: Any, many: int) -> Any:
    """The first ``many``, and with factor 0 what is missing to a multiple of four."""
    whole = (many + 3) // 4 * 4
    for e in range(many, whole):
        starts[e], factors[e] = np.uint64(0), np.float32(0)
    return starts[:whole], factors[:whole]


@compiled(FAST)
def rows_to_weight(back: Any, place: Any, x: Any, depth: int, weight: Any, bias: Any) -> None:
    """Add to ``weight (channels, size, size depth)`` and ``bias`` their gradients.

    Images are ``x (n, height, width depth)``. A row of a patch is one run of ``size depth`` numbers: long
    enough where the image is deep.
    """
    count, height, width, channels = back.shape
    shape, line = (np.uint64(weight.shape[1]), np.uint64(weight.shape[2])), np.uint64(x.shape[2])
    pixels, out = x.reshape(-1), weight.reshape(-1)
    starts, factors = np.empty(height * width + 3, np.uint64), np.empty(height * width + 3, np.float32)
    for n in range(count):
        for c in range(channels):  # its gradient stays in the cache
            many = 0
            for i in range(height):
                for j in range(width):
                    at, value = place[n, i, j, c], back[n, i, j, c]
                    if at < CUT and value != 0:
                        row, column = n * x.shape[1] + 2 * i + (at >> 1), 2 * j + (at & 1)
                        starts[many] = np.uint64(row) * line + np.uint64(column * depth)
                        factors[many] = value
                        bias[c] += value
                        many += 1
            to = np.uint64(c) * shape[0] * shape[1]
            _add_patches(out, to, shape[1], pixels, *_filled(starts, factors, many), line, shape)


@compiled(FAST)
def rows_to_input(back: Any, place: Any, weight: Any, depth: int, x: Any) -> None:
    """Add to ``x (n, height, width depth)`` its gradient, by ``weight (channels, size, size depth)``."""
    count, height, width, channels = back.shape
    shape, line = (np.uint64(weight.shape[1]), np.uint64(weight.shape[2])), np.uint64(x.shape[2])
    kernels, out = weight.reshape(-1), x.reshape(-1)
    starts, factors = (
        np.empty((CORNERS, channels + 3), np.uint64),
        np.empty((CORNERS, channels + 3), np.float32),
    )
    many = np.empty(CORNERS, np.int64)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                many[:] = 0
                for c in range(channels):  # sorted by corner: all of one are added at one place
                    at, value = place[n, i, j, c], back[n, i, j, c]
                    if at < CUT and value != 0:
                        starts[at, many[at]] = np.uint64(c) * shape[0] * shape[1]
                        factors[at, many[at]] = value
                        many[at] += 1
                for at in range(CORNERS):
                    row, column = n * x.shape[1] + 2 * i + (at >> 1), 2 * j + (at & 1)
                    to = np.uint64(row) * line + np.uint64(column * depth)
                    given = _filled(starts[at], factors[at], many[at])
                    _add_patches(out, to, line, kernels, *given, shape[1], shape)


@compiled(FAST)
def windows_to_weight(back: Any, place: Any, x: Any, weight: Any, bias: Any) -> None:
    """:func:`rows_to_weight` for one channel: ``x (n, height, width)``, ``weight (channels, 4, window)``.

    The rows of a patch are short here. So the window that holds the patches of all four corners is copied
    once, each row in :data:`LANE` numbers, and a corner's gradient is that of the whole window.
    """
    count, height, width, channels = back.shape
    window = np.zeros(weight.shape[2], np.float32)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                for u in range(window.shape[0] // LANE):
                    for v in range(LANE):
                        window[LANE * u + v] = x[n, 2 * i + u, 2 * j + v]
                for c in range(channels):
                    at, value = place[n, i, j, c], back[n, i, j, c]
                    if at < CUT and value != 0:
                        bias[c] += value
                        _add(weight[c, at], window, value)


@compiled(FAST)
def windows_to_input(back: Any, place: Any, weight: Any, x: Any) -> None:
    """:func:`rows_to_input` for one channel; ``weight (channels, 4, window)`` has it at each corner."""
    count, height, width, channels = back.shape
    window = np.zeros(weight.shape[2], np.float32)
    for n in range(count):
        for i in range(height):
            for j in range(width):
                window[:] = 0
                for c in range(channels):
                    at, value = place[n, i, j, c], back[n, i, j, c]
                    if at < CUT and value != 0:
                        _add(window, weight[c, at], value)
                for u in range(window.shape[0] // LANE):
                    for v in range(LANE):
                        x[n, 2 * i + u, 2 * j + v] += window[LANE * u + v]
