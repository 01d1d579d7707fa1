"""The worst Gaussian classes within a Wasserstein ball: what the paper's first proposition says, corrected.

The proposition ("DRO = geodesic"): the adversary replaces both classes ``N(y mu, sigma^2 I)`` by Gaussians
within ``W2`` distance ``eps``, the learner answers with the best linear classifier. The paper claims that
the adversary moves the means towards each other and leaves the covariance alone, ``mu -> (1 - eps) mu``. He
does better by also widening the classes along ``mu``; and ``(1 - eps) mu`` is a move by ``eps`` only where
``|mu| = 1``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.theory.gaussian_model import tail

__all__ = ["mean_shift_error", "printed_error", "worst_error", "worst_gaussian", "worst_score", "worst_step"]

Values = NDArray[np.float64]


def worst_step(length: float, sigma: float, eps: float) -> tuple[float, float]:
    """What the adversary does along ``mu``: the mean moves by ``a``, the standard deviation grows by ``b``.

    ``a^2 + b^2 = eps^2`` is the squared ``W2`` between the old and the new Gaussian. The score ``(|mu| - a)
    / (sigma + b)`` is the slope of the line from the origin to ``(sigma + b, |mu| - a)``, a point of the
    circle of radius ``eps`` around ``(sigma, |mu|)``, and least where that line touches the circle: there
    ``(b, -a)`` stands at a right angle to it, ``a = eps cos(phi)``, ``b = eps sin(phi)``, where ``phi =
    arctan(|mu| / sigma) - arcsin(eps / sqrt(|mu|^2 + sigma^2))`` is the line's angle.
    """
    phi = _angle(length, sigma, eps)
    return eps * math.cos(phi), eps * math.sin(phi)


def worst_score(length: float, sigma: float, eps: float) -> float:
    """``kappa = tan(arctan(|mu| / sigma) - arcsin(eps / sqrt(|mu|^2 + sigma^2)))`` for ``eps < |mu|``.

    The score ``mu' theta / (sigma |theta|)`` that the best classifier is left with (:func:`worst_step`).
    """
    return math.tan(_angle(length, sigma, eps))


def worst_error(length: float, sigma: float, eps: float) -> float:
    """The value of the game: ``Q(kappa)`` for ``eps < |mu|``, else 1/2 (the classes can be made the same).

    It is both the max-min and the min-max. Whatever the classifier ``sign(theta' x)``, projecting on
    ``theta`` does not increase ``W2``, so against ``theta = mu`` nothing is worse than :func:`worst_step`
    for each class; and against its result, two Gaussians of equal covariance, no linear classifier is better
    than ``mu``.
    """
    return 0.5 if eps >= length else float(tail(worst_score(length, sigma, eps)))


def mean_shift_error(length: float, sigma: float, eps: float) -> float:
    """The value where the adversary may move only the means: ``Q((|mu| - eps) / sigma)``, at most 1/2.

    In this form the proposition holds; the classes stay on the geodesic, at ``t = eps / (2 |mu|)``.
    """
    return float(tail(max(length - eps, 0.0) / sigma))


def printed_error(length: float, sigma: float, eps: float) -> float:
    """What the proposition prints, ``Q((1 - eps) |mu| / sigma)``: the mean shift where ``|mu| = 1``."""
    return float(tail((1 - eps) * length / sigma))


def worst_gaussian(mu: Values, sigma: float, eps: float) -> tuple[Values, Values]:
    """Mean ``(d,)`` and covariance ``(d, d)`` of the worst class +1; class -1 has the opposite mean.

    ``mean = (|mu| - a) u`` and ``cov = sigma^2 I + ((sigma + b)^2 - sigma^2) u u'``, with ``u = mu / |mu|``.
    """
    mu = np.asarray(mu, dtype=np.float64)
    length = float(np.linalg.norm(mu))
    a, b = worst_step(length, sigma, eps)
    u = mu / length
    return (length - a) * u, sigma**2 * np.eye(len(mu)) + ((sigma + b) ** 2 - sigma**2) * np.outer(u, u)


def _angle(length: float, sigma: float, eps: float) -> float:
    if not (sigma > 0 and 0 <= eps < length):
        raise InputError(
            f"worst Gaussian: got |mu| = {length}, sigma = {sigma}, eps = {eps}; "
            "expected sigma > 0 and 0 <= eps < |mu|"
        )
    return math.atan2(length, sigma) - math.asin(eps / math.hypot(length, sigma))
