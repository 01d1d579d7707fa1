"""When augmentation on the geodesic helps the mean estimator, and why it cannot tell transport from mixup.

The paper's theorem (section 4): ``n0`` real samples ``N(y mu, sigma^2 I)`` and ``n1 = m n0`` augmented ones
``N(y r mu, sigma^2 I)``, ``r = 1 - 2t``, independent of the real ones; ``theta`` is the mean of all ``y x``.
What the theorem's proof compares is the cosine of ``theta`` and ``mu``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError

__all__ = [
    "augmentation_helps",
    "break_even_ratio",
    "effective_samples",
    "estimates",
    "label_sum",
    "least_shrinkage",
    "mixed_both_ways",
    "worst_ratio",
]

Values = NDArray[np.float64]


def effective_samples(n0: float, ratio: float, shrinkage: float) -> float:
    """Number of real samples that give a direction as good: ``n0 (1 + r m)^2 / (1 + m)``.

    With augmentation ``theta ~ N((n0 + r n1) mu, (n0 + n1) sigma^2 I) / (n0 + n1)``, without it
    ``N(n mu, n sigma^2 I) / n``: the directions have the same distribution where the ratios of length to
    spread agree, ``n = (n0 + r n1)^2 / (n0 + n1)``.
    """
    return n0 * (1 + shrinkage * ratio) ** 2 / (1 + ratio)


def least_shrinkage(ratio: float) -> float:
    """``r* = (sqrt(1 + m) - 1) / m``: augmentation at ratio ``m`` helps if and only if ``r >= r*``.

    It solves ``(1 + r m)^2 = 1 + m`` (:func:`effective_samples`). At ``m = 1`` it is ``sqrt(2) - 1``, so
    ``t <= 0.293``; for ``m -> 0`` it tends to 1/2, so ``t <= 1/4`` always helps; for ``m -> infinity`` to 0.
    """
    _check_ratio(ratio)
    return 1 / (math.sqrt(1 + ratio) + 1)  # the same number, without cancellation at small m


def augmentation_helps(ratio: float, shrinkage: float) -> bool:
    """Whether ``r >= (sqrt(1 + m) - 1) / m``."""
    return bool(shrinkage >= least_shrinkage(ratio))


def worst_ratio(shrinkage: float) -> float:
    """The ``m`` that does the most harm: ``(1 - 2r) / r`` for ``0 < r < 1/2``.

    There the effective number is least, ``4 r (1 - r) n0``. For ``r >= 1/2`` it grows with ``m`` from the
    start, and the answer is 0.
    """
    _check_shrinkage(shrinkage)
    return max(0.0, (1 - 2 * shrinkage) / shrinkage)


def break_even_ratio(shrinkage: float) -> float:
    """The ``m`` from which on augmentation helps again: ``(1 - 2r) / r^2`` for ``0 < r < 1/2``, else 0."""
    _check_shrinkage(shrinkage)
    return max(0.0, (1 - 2 * shrinkage) / shrinkage**2)


def estimates(
    mu: Values,
    sigma: float,
    n0: int,
    *,
    ratio: float,
    shrinkage: float,
    count: int,
    generator: np.random.Generator,
) -> tuple[Values, Values]:
    """``count`` draws of ``theta`` without and with augmentation, each ``(count, d)``.

    The estimators are sums of Gaussians, so that they are drawn directly: the real part is the same in both.
    """
    mu = np.asarray(mu, dtype=np.float64)
    n1 = round(ratio * n0)
    real = n0 * mu + sigma * np.sqrt(n0) * generator.standard_normal((count, len(mu)))
    made = shrinkage * n1 * mu + sigma * np.sqrt(n1) * generator.standard_normal((count, len(mu)))
    return real / n0, (real + made) / (n0 + n1)


def mixed_both_ways(
    x0: Values, x1: Values, permutation: NDArray[np.int64], t: float
) -> tuple[Values, Values]:
    """Points at ``t`` on the way from each ``x0`` to its partner ``x1[permutation]``, and on the way back.

    ``x0, x1 (n, d)`` -> ``((1-t) x0 + t x1', (1-t) x1' + t x0)``, both ``(n, d)``; "side labels" give the
    first the class of ``x0`` and the second that of ``x1``.
    """
    partner = x1[permutation]
    return (1 - t) * x0 + t * partner, (1 - t) * partner + t * x0


def label_sum(x0: Values, x1: Values) -> Values:
    """``sum of y x`` with ``y = -1`` for ``x0 (n, d)`` and ``+1`` for ``x1 (n, d)``: ``(d,)``.

    Of points :func:`mixed_both_ways` it is ``(1 - 2t) (sum x1 - sum x0)`` for every permutation: the linear
    estimator's direction is that of the real samples, whoever is paired with whom. The theorem, which knows
    no more of the data than this sum, holds for mixup as it does for transport.
    """
    return np.asarray(x1.sum(axis=0) - x0.sum(axis=0))


def _check_ratio(ratio: float) -> None:
    if ratio <= 0:
        raise InputError(f"ratio: got {ratio}; expected augmented samples for each real one, above 0")


def _check_shrinkage(shrinkage: float) -> None:
    if not 0 < shrinkage <= 1:
        raise InputError(f"shrinkage: got {shrinkage}; expected r = 1 - 2t in (0, 1]")
