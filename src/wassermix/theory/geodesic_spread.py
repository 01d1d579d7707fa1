"""How wide the classes are half-way: optimal pairs keep their spread, random and blurred pairs lose it.

Between the two classes of the model the optimal map is a translation and nothing is lost
(:mod:`wassermix.theory.class_transport`). Here are the other cases: unequal covariances, partners that
entropy has blurred, and clouds of finitely many points.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from wassermix.transport.gaussian import Gaussian, gaussian_geodesic

__all__ = [
    "blurred_covariance",
    "entropic_correlation",
    "matched_correlation",
    "optimal_covariance",
    "random_covariance",
    "spread_of_pairs",
]

Values = NDArray[np.float64]


def optimal_covariance(cov0: Values, cov1: Values, t: float) -> Values:
    """Covariance at ``t`` of McCann's interpolation (appendix): ``((1-t) I + t A) S0 ((1-t) I + t A)``.

    ``(d, d)``; ``A`` is the optimal map. Equal covariances give ``S0`` at every ``t``. (The paper writes
    ``S1`` for ``S0``, and a map without the factor ``t``.)
    """
    ends = [
        Gaussian(torch.zeros(len(cov)), torch.as_tensor(cov, dtype=torch.float64)) for cov in (cov0, cov1)
    ]
    return np.asarray(gaussian_geodesic(ends[0], ends[1], t).cov.numpy())


def random_covariance(cov0: Values, cov1: Values, t: float) -> Values:
    """Covariance at ``t`` between independent partners, as mixup draws them: ``(1-t)^2 S0 + t^2 S1``.

    Equal covariances give ``(1 - 2t(1-t)) S0``, half of it at ``t = 1/2``. ``(d, d)``.
    """
    return (1 - t) ** 2 * np.asarray(cov0) + t**2 * np.asarray(cov1)


def entropic_correlation(sigma: float, entropy: float) -> float:
    """Correlation of partners under the entropic plan between two Gaussians ``N(., sigma^2 I)``.

    The plan minimises ``E|x - y|^2 + entropy KL(plan | product)``; along each axis that is ``-2 c - entropy
    / 2 log(1 - c^2 / sigma^4)`` in the covariance ``c``, so ``c = (sqrt(entropy^2 + 16 sigma^4) - entropy) /
    4`` and the correlation is ``c / sigma^2``: 1 without entropy, 0 with very much.
    """
    blur = entropy / (4 * sigma**2)
    return 1 / (math.sqrt(blur**2 + 1) + blur)  # the same number, without cancellation


def blurred_covariance(sigma: float, entropy: float, t: float) -> float:
    """Variance at ``t`` along each axis where partners are averaged: ``(1 - t + t rho)^2 sigma^2``.

    The barycentric image of the entropic plan has ``rho^2`` of the target's variance, ``rho`` the
    :func:`entropic_correlation`; so the path narrows towards the other class by its own fault.
    """
    return (1 - t + t * entropic_correlation(sigma, entropy)) ** 2 * sigma**2


def spread_of_pairs(x0: Values, x1: Values, t: float) -> float:
    """Variance of ``(1-t) x0 + t x1`` against the straight line between the variances at the ends.

    ``x0, x1 (n, d)``, row by row partners; variance is the trace of the covariance. 1 for translated
    clouds, ``1 - 2t(1-t)`` for independent partners of equal variance.
    """
    return _variance((1 - t) * x0 + t * x1) / ((1 - t) * _variance(x0) + t * _variance(x1))


def matched_correlation(x0: Values, x1: Values) -> float:
    """Correlation of partners over all coordinates: ``tr Cov(x0, x1) / sqrt(tr Cov(x0) tr Cov(x1))``.

    ``x0, x1 (n, d)``, row by row partners. At ``t = 1/2`` and equal variances the spread is ``(1 +
    correlation) / 2``.
    """
    centred0, centred1 = x0 - x0.mean(axis=0), x1 - x1.mean(axis=0)
    cross = float((centred0 * centred1).sum()) / len(x0)
    return cross / math.sqrt(_variance(x0) * _variance(x1))


def _variance(x: Values) -> float:
    return float(x.var(axis=0).sum())
