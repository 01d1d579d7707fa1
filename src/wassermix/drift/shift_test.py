"""Has it drifted at all? A permutation test on the sliced Wasserstein distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wassermix.drift.views import Floats, Spaces

__all__ = ["ShiftTest", "shift_tests", "two_sample_test"]

LEVELS = 64
MOST = 1000


@dataclass(frozen=True)
class ShiftTest:
    """What the test found in one space."""

    space: str
    distance: float
    """Sliced W2 between reference and new samples, in units of the reference's spread."""
    p_value: float
    permutations: int
    samples: tuple[int, int]
    """How many of each set were used."""


def two_sample_test(
    reference: Floats, new: Floats, *, space: str, permutations: int = 199, rng: np.random.Generator
) -> ShiftTest:
    """Whether ``new (m, d)`` may come from where ``reference (n, d)`` does.

    The statistic is the sliced W2^2 over random directions; its law without drift comes from dealing the
    pooled samples anew. ``p = (1 + number of deals at least as far apart) / (1 + permutations)``: a
    rejection at level ``alpha`` is false with a chance of at most ``alpha``, for any sizes. Sets beyond 1,000
    samples are sub-sampled evenly.
    """
    reference, new = _spaced(reference), _spaced(new)
    pooled = np.concatenate([reference, new])
    ways = _directions(pooled.shape[1], rng)
    projected = pooled @ ways.T
    order = np.argsort(projected, axis=0)
    ordered = np.take_along_axis(projected, order, axis=0)
    member = np.arange(len(pooled)) < len(reference)
    found = _statistic(ordered, order, member)
    dealt = [_statistic(ordered, order, rng.permutation(member)) for _ in range(permutations)]
    p_value = (1 + sum(value >= found - 1e-12 for value in dealt)) / (1 + permutations)
    spread = float(np.sqrt(reference.var(axis=0).mean())) or 1.0
    return ShiftTest(space, float(np.sqrt(found)) / spread, p_value, permutations, (len(reference), len(new)))


def shift_tests(
    held: Spaces, new: Spaces, *, permutations: int, rngs: Callable[[str], np.random.Generator]
) -> tuple[ShiftTest, ...]:
    """The test in input and in feature space; ``held`` are reference samples that fitted no component."""
    pairs = {"input": (held.inputs, new.inputs), "feature": (held.features, new.features)}
    return tuple(
        two_sample_test(*pair, space=space, permutations=permutations, rng=rngs(space))
        for space, pair in pairs.items()
    )


def _statistic(ordered: Floats, order: np.ndarray, member: np.ndarray) -> float:
    """Sliced W2^2 between members and others, from projections that are sorted once for all deals."""
    inside = member[order]  # (N, directions): whether each place in the sorted order belongs to the first set
    first = ordered.T[inside.T].reshape(ordered.shape[1], -1)
    second = ordered.T[~inside.T].reshape(ordered.shape[1], -1)
    return float(np.square(_quantiles(first) - _quantiles(second)).mean())


def _quantiles(rows: Floats) -> Floats:
    """``LEVELS`` quantiles of each sorted row, interpolated."""
    places = (np.arange(LEVELS) + 0.5) / LEVELS * rows.shape[1] - 0.5
    low = np.clip(np.floor(places).astype(int), 0, rows.shape[1] - 1)
    high = np.clip(low + 1, 0, rows.shape[1] - 1)
    part = np.clip(places - low, 0, 1)
    between: Floats = (1 - part) * rows[:, low] + part * rows[:, high]
    return between


def _directions(dim: int, rng: np.random.Generator, count: int = 32) -> Floats:
    ways = rng.standard_normal((count, dim))
    unit: Floats = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    return unit


def _spaced(values: Floats) -> Floats:
    return values if len(values) <= MOST else values[np.arange(MOST) * len(values) // MOST]
