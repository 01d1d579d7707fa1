"""What the parts of the study share: the model that they draw from, curves of theory beside simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.core.streams import stream_seed

__all__ = [
    "BATCHES",
    "MU",
    "SIGMA",
    "THETA",
    "Curve",
    "Values",
    "curves_of",
    "furthest",
    "jackknifed",
    "means",
    "shares",
    "stream",
]

Values = NDArray[np.float64]
Curve = dict[str, list[float]]
MU, SIGMA = np.array([1.2, 0.8, 0.0, -0.4]), 1.0
THETA = np.array([1.0, 1.0, 0.3, -0.2])  # near mu but not on it, as an estimate is
BATCHES, SEED = 50, 0  # an error estimated from b batches is itself off by 1 in sqrt(2b)
EXACT = 1e-9  # where a simulation has no error, rounding is all that may be left


def stream(purpose: str) -> np.random.Generator:
    """The random numbers of one part: the same at every run, those of no other part."""
    return np.random.default_rng(stream_seed(SEED, "theory", purpose))


def shares(theory: Sequence[Any], simulated: Sequence[Any], *, samples: int) -> Curve:
    """Probabilities ``p`` beside shares of ``samples`` draws, whose standard error is ``sqrt(p (1-p) / n)``.

    Where ``p`` is 0 or 1 it counts as that of one sample among ``n``.
    """
    p = np.array(theory, dtype=np.float64)
    error = np.sqrt(np.maximum(p * (1 - p), 1 / samples) / samples)
    return _curve(p, np.array(simulated, dtype=np.float64), error)


def means(theory: Sequence[Any] | Values, batches: Sequence[Any] | Values) -> Curve:
    """Values ``(k,)`` beside the mean of batches ``(b, k)``, with its standard error ``sd / sqrt(b)``."""
    found = np.array(batches, dtype=np.float64)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return _curve(np.array(theory, dtype=np.float64), found.mean(axis=0), error)


def jackknifed(theory: Sequence[Any] | Values, batches: Values, of_mean: Callable[[Values], Values]) -> Curve:
    """Values ``(k,)`` beside ``of_mean`` of the mean over batches ``(b, ...)``, with the jackknife's error.

    ``sqrt((b-1) / b * sum_i (f_-i - mean f_-i)^2)``, ``f_-i`` computed without batch ``i``. Of a statistic
    that is not linear, the mean of batches would keep the bias of small ones.
    """
    count, total = len(batches), batches.sum(axis=0)
    left = np.stack([of_mean((total - batch) / (count - 1)) for batch in batches])
    error = np.sqrt((count - 1) * left.var(axis=0))
    return _curve(np.array(theory, dtype=np.float64), of_mean(total / count), error)


def furthest(curves: Sequence[Curve]) -> float:
    """The largest gap between theory and simulation, in standard errors."""
    return max(_gap(curve) for curve in curves)


def curves_of(part: Any) -> list[Curve]:
    """All curves inside a part of the record."""
    if not isinstance(part, dict):
        return []
    own = [part] if {"theory", "simulated", "error"} <= part.keys() else []
    return own + [curve for inner in part.values() for curve in curves_of(inner)]


def _curve(theory: Values, simulated: Values, error: Values) -> Curve:
    return {"theory": theory.tolist(), "simulated": simulated.tolist(), "error": error.tolist()}


def _gap(curve: Curve) -> float:
    theory, simulated, error = (np.array(curve[key]) for key in ("theory", "simulated", "error"))
    return float(np.max(np.abs(theory - simulated) / np.maximum(error, EXACT)))
