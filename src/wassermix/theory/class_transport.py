"""Transport between the two classes of the model: distance, map and path, for optimal and for random pairs.

Time 0 is the class ``N(mu, sigma^2 I)``, time 1 the class ``N(-mu, sigma^2 I)``, so that the mean at ``t`` is
``r mu`` with the paper's ``r = 1 - 2t``. Both have the same covariance, so the optimal map is a translation.
General Gaussians go through :mod:`wassermix.transport.gaussian`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError

__all__ = ["class_distance", "class_geodesic", "class_map", "random_distance", "random_path"]

Values = NDArray[np.float64]


def class_distance(mu: Values) -> float:
    """``W2(N(mu, sigma^2 I), N(-mu, sigma^2 I)) = 2 |mu|`` for every ``sigma``; ``mu (d,)``.

    ``W2^2 = |m0 - m1|^2 + tr(S0 + S1 - 2 (S0^1/2 S1 S0^1/2)^1/2)``, and the trace is 0 where ``S0 = S1``.
    """
    return 2 * float(np.linalg.norm(mu))


def random_distance(mu: Values, sigma: float) -> float:
    """Root mean square distance of independent partners: ``sqrt(4 |mu|^2 + 2 d sigma^2)``; ``mu (d,)``.

    The optimal plan saves ``2 d sigma^2`` of the squared cost: all that the classes' own spread adds.
    """
    return math.sqrt(class_distance(mu) ** 2 + 2 * len(mu) * sigma**2)


def class_map(x: Values, mu: Values, *, label: int = 1) -> Values:
    """The optimal partner of ``x (..., d)`` in the other class: ``x - 2 mu`` of class +1, ``x + 2 mu`` of -1.

    ``m1 + A (x - m0)`` with ``A = S0^-1/2 (S0^1/2 S1 S0^1/2)^1/2 S0^-1/2 = I``. ``label`` is the class of
    ``x``.
    """
    if label not in (-1, 1):
        raise InputError(f"label: got {label}; expected the class of x, 1 or -1")
    return np.asarray(np.asarray(x, dtype=np.float64) - 2 * label * np.asarray(mu, dtype=np.float64))


def class_geodesic(mu: Values, sigma: float, t: float) -> tuple[Values, Values]:
    """Mean ``(d,)`` and covariance ``(d, d)`` at ``t`` of optimal pairs: ``((1 - 2t) mu, sigma^2 I)``.

    McCann's ``x_t = (1-t) x + t T(x) = x - 2t mu``: a translation keeps the covariance. (The paper prints
    ``(1-t) x + T(x)``, without the factor ``t``.)
    """
    return _mean(mu, t), sigma**2 * np.eye(len(mu))


def random_path(mu: Values, sigma: float, t: float) -> tuple[Values, Values]:
    """Mean and covariance at ``t`` of random pairs: ``((1 - 2t) mu, (1 - 2t(1-t)) sigma^2 I)``.

    The variances of independent partners add up, ``(1-t)^2 + t^2 = 1 - 2t(1-t)``: half at ``t = 1/2``, where
    the mean is that of the geodesic all the same.
    """
    return _mean(mu, t), (1 - 2 * t * (1 - t)) * sigma**2 * np.eye(len(mu))


def _mean(mu: Values, t: float) -> Values:
    return np.asarray((1 - 2 * t) * np.asarray(mu, dtype=np.float64))
