"""The study's parts on transport between the classes: distance, map, path, and what pairing changes.

On the line the optimal plan pairs the sorted draws, so that it is exact for any number of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from wassermix.theory.augmentation import label_sum, mixed_both_ways
from wassermix.theory.class_transport import (
    class_distance,
    class_geodesic,
    class_map,
    random_distance,
    random_path,
)
from wassermix.theory.curves import BATCHES, Values, means, stream
from wassermix.theory.geodesic_spread import random_covariance, spread_of_pairs

__all__ = ["along", "distance", "mapped", "pairing"]

LINE = np.array([1.0])  # mu on the line; sigma is 1
WINDOW = 0.25  # random partners of x are averaged over as much on both sides of it


def distance(samples: int) -> dict[str, Any]:
    """W2 of the classes over |mu|, beside the distance of random partners."""
    lengths = np.linspace(0.25, 3, 12)
    found = {
        name: np.stack([np.sqrt(np.mean((x0 - x1 + 2 * m) ** 2, axis=1)) for m in lengths], axis=1)
        for name, (x0, x1) in _batches(samples, stream("distance")).items()
    }
    return {
        "length": lengths.tolist(),
        "optimal": means([class_distance(m * LINE) for m in lengths], found["optimal"]),
        "random": means([random_distance(m * LINE, 1.0) for m in lengths], found["random"]),
    }


def mapped(samples: int) -> dict[str, Any]:
    """The partner of x in the other class: the optimal one, and a random one on average."""
    places = np.linspace(-0.5, 2.5, 13)
    drawn = _batches(samples, stream("mapped"))
    optimal = [np.interp(places, x0 + 1, x1 - 1) for x0, x1 in zip(*drawn["optimal"])]
    strangers = [_near(places, x0 + 1, x1 - 1) for x0, x1 in zip(*drawn["random"])]
    return {
        "x": places.tolist(),
        "optimal": means(class_map(places, LINE), optimal),
        "random": means(np.full(len(places), -1.0), strangers),
    }


def along(samples: int) -> dict[str, Any]:
    """Over t: the mean of y x, which no pairing changes, and the variance, which it does."""
    times = np.linspace(0, 1, 11)
    drawn = _batches(samples, stream("along"))
    pairs = {name: (x0 + 1, x1 - 1) for name, (x0, x1) in drawn.items()}
    found = {name: np.stack([_moments(*pair, t) for t in times], axis=-1) for name, pair in pairs.items()}
    paths = {"optimal": class_geodesic, "random": random_path}
    exact = {name: [path(LINE, 1.0, t) for t in times] for name, path in paths.items()}
    return {
        "t": times.tolist(),
        **{
            f"{what}_{name}": means([moments[i].item() for moments in exact[name]], found[name][i])
            for i, what in enumerate(("mean", "variance"))
            for name in paths
        },
    }


def _batches(samples: int, generator: np.random.Generator) -> dict[str, tuple[Values, Values]]:
    """Partners ``N(0, 1)``, two of ``(batches, n)``, as drawn (random) and sorted (optimal)."""
    x0, x1 = generator.standard_normal((2, BATCHES, samples // BATCHES))
    return {"optimal": (np.sort(x0), np.sort(x1)), "random": (x0, x1)}


def _near(places: Values, x0: Values, x1: Values) -> list[float]:
    """The mean partner of the points near each place."""
    return [float(x1[np.abs(x0 - place) < WINDOW].mean()) for place in places]


def _moments(x0: Values, x1: Values, t: float) -> tuple[Values, Values]:
    """Mean of ``y x`` and variance within a class of points on both ways, ``(batches,)`` each."""
    there, back = (1 - t) * x0 + t * x1, (1 - t) * x1 + t * x0
    return (there - back).mean(axis=1) / 2, (there.var(axis=1) + back.var(axis=1)) / 2


def pairing(samples: int) -> dict[str, Any]:
    """The spread half-way between optimal partners by dimension and number, and the theorem's sum."""
    generator, dims = stream("pairing"), [1, 2, 4, 8, 16, 32, 64]
    x0, x1 = generator.standard_normal((100, 8)) - 0.5, generator.standard_normal((100, 8)) + 0.5
    return {
        "sum_changes_by": max(
            float(np.abs(label_sum(*mixed_both_ways(x0, x1, p, 0.3)) - 0.4 * label_sum(x0, x1)).max())
            for p in (_matched(x0, x1), generator.permutation(100))
        ),
        "dims": dims,
        "random": float(random_covariance(np.eye(1), np.eye(1), 0.5)[0, 0]),
        "exact": {
            str(n): [_matched_spread(n, d, samples // 200, generator) for d in dims]
            for n in (16, 64, 256, 1024)
        },
    }


def _matched(x0: Values, x1: Values) -> NDArray[np.int64]:
    cost = (x0**2).sum(1)[:, None] + (x1**2).sum(1) - 2 * x0 @ x1.T
    return np.asarray(linear_sum_assignment(cost)[1])


def _matched_spread(points: int, dim: int, samples: int, generator: np.random.Generator) -> float:
    """The spread half-way between optimal partners, a mean over some pairs of clouds ``N(0, I)``."""
    clouds = generator.standard_normal((max(1, samples // points), 2, points, dim))
    return float(np.mean([spread_of_pairs(a, b[_matched(a, b)], 0.5) for a, b in clouds]))
