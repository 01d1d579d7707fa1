"""The factors of squared distances, compiled for the CPU: one pass over the points of a run of problems.

All that these functions call is in this file: Numba's cache notices no changes in others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wassermix.core.jit import FAST, compiled

__all__ = ["centre_run"]


@compiled(FAST)
def _middle(z: Any) -> Any:
    """The mean of the points ``z (n, d)``, in their precision, by sums in float64."""
    total = np.zeros(z.shape[1])
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            total[k] += z[i, k]
    return (total / z.shape[0]).astype(z.dtype)


@compiled(FAST)
def _centre(z: Any, middle: Any, scale: Any, square: int, out: Any) -> tuple[float, float]:
    """Rows ``[scale x, ..]`` with ``x = z - middle``, ``|x|^2`` in column ``square`` and 1 in the other.

    Returns the largest and the mean ``|x|^2``.
    """
    n, d = z.shape
    largest, total, one = 0.0, 0.0, z.dtype.type(1)
    for i in range(n):
        point, line, norm = z[i], out[i], z.dtype.type(0)
        for k in range(d):
            x = point[k] - middle[k]
            norm += x * x
            line[k] = scale * x
        line[d] = line[d + 1] = one
        line[square] = norm
        largest = max(largest, np.float64(norm))
        total += norm
    return (largest if total < np.inf else total), total / n  # NaN and infinities show in both


@compiled(FAST)
def centre_run(z0: Any, z1: Any, left: Any, right: Any, bound: Any, mean: Any) -> None:
    """Fill ``left (p, n, d + 2)``, ``right (p, m, d + 2)``, ``bound (p,)``, ``mean (p,)`` of ``Factors``."""
    d = z0.shape[2]
    for p in range(z0.shape[0]):
        middle = _middle(z1[p])
        far0, mean0 = _centre(z0[p], middle, z0.dtype.type(1), d, left[p])
        far1, mean1 = _centre(z1[p], middle, z0.dtype.type(-2), d + 1, right[p])
        bound[p], mean[p] = (np.sqrt(far0) + np.sqrt(far1)) ** 2, mean0 + mean1
