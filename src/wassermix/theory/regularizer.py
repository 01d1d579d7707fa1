"""The geodesic regulariser in the Gaussian model: what it does to a linear loss, and whom it rewards.

``Reg = integral over t in [0, 1] of |R'(t)|`` with ``R(t)`` the expected loss at time ``t`` of the geodesic,
labels mixed as positions are (the paper's "geodesic regularizer").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "label_entropy",
    "linear_minimizer",
    "linear_objective",
    "linear_path_loss",
    "linear_regularizer",
    "logistic_path_loss",
    "printed_minimizer",
    "total_variation",
]

Values = NDArray[np.float64]


def total_variation(values: Values) -> float:
    """``sum |R(t_{k+1}) - R(t_k)|``: the integral of ``|R'|`` where ``R`` is monotone between the points."""
    return float(np.abs(np.diff(values)).sum())


def linear_path_loss(theta: Values, mu: Values, t: float | Values) -> Values:
    """``R(t) = E[-y_t theta' x_t] = -(2t - 1)^2 theta' mu``; ``y_t = 2t - 1``, ``E x_t = (2t - 1) mu``."""
    return np.asarray(-((2 * np.asarray(t, dtype=np.float64) - 1) ** 2) * float(np.dot(theta, mu)))


def linear_regularizer(theta: Values, mu: Values) -> float:
    """``Reg = integral of |4 (1 - 2t) theta' mu| dt = 2 |theta' mu|`` (appendix, the proposition on Reg)."""
    return 2 * abs(float(np.dot(theta, mu)))


def linear_objective(theta: Values, mu: Values, weight: float, decay: float) -> float:
    """``-theta' mu + weight / 2 Reg^2 + decay / 2 |theta|^2``, the proposition's objective; ``mu (d,)``.

    ``weight / 2 Reg^2 = 2 weight (theta' mu)^2``; the paper goes on with ``weight / 2 (theta' mu)^2``.
    """
    penalty = weight / 2 * linear_regularizer(theta, mu) ** 2 + decay / 2 * float(np.dot(theta, theta))
    return -float(np.dot(theta, mu)) + penalty


def linear_minimizer(mu: Values, weight: float, decay: float) -> Values:
    """``theta* = (4 weight mu mu' + decay I)^-1 mu = mu / (decay + 4 weight |mu|^2)``, ``(d,)``.

    A positive multiple of ``mu`` for every weight: the regulariser scales ``theta`` and leaves the classifier
    ``sign(theta' x)`` as it was, its error and its robustness with it.
    """
    mu = np.asarray(mu, dtype=np.float64)
    return np.asarray(mu / (decay + 4 * weight * float(mu @ mu)))


def printed_minimizer(mu: Values, weight: float, decay: float) -> Values:
    """``(weight mu mu' + decay I)^-1 mu``, as the paper prints it: a factor 4 is lost. ``(d,)``."""
    mu = np.asarray(mu, dtype=np.float64)
    return np.asarray(mu / (decay + weight * float(mu @ mu)))


def label_entropy(t: float | Values) -> Values:
    """``H(t) = -t log t - (1-t) log(1-t)``: the cross-entropy of a mixed label with itself, log 2 at 1/2."""
    t = np.asarray(t, dtype=np.float64)
    return np.asarray(special.entr(t) + special.entr(1 - t))


def logistic_path_loss(t: Values, score: float, scale: float) -> Values:
    """Cross-entropy at times ``t (k,)`` of ``P(y = 1 | x) = sigmoid(scale * 2 mu' x / sigma^2)``: ``(k,)``.

    ``score = |mu| / sigma``; ``scale = 1`` is the true posterior of the two classes, 0 the constant 1/2.
    With ``a = scale * 2 score``, the logit at time ``t`` is ``a ((2t-1) score + Z)``, ``Z ~ N(0, 1)``, and
    the loss ``E[log(1 + e^l)] - t E[l]``; Gauss-Hermite quadrature does the expectation.

    KL is this less :func:`label_entropy`. Under cross-entropy a constant classifier has ``Reg = 0`` and one
    that says ``t`` at time ``t``, as the labels do, ``2 log 2``; under KL the other way about. So the
    paper's form pays for collapse and the KL form for calibration.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    logits = 2 * scale * score * ((2 * t[:, None] - 1) * score + nodes)
    return np.asarray(np.logaddexp(0, logits) @ weights - t * (logits @ weights))
