"""Errors of a linear classifier on two Gaussian classes: standard, attacked, smoothed, certified.

The model (the paper's "Conditional Gaussian model"): ``y`` is -1 or +1 with equal chance and
``x | y ~ N(y mu, sigma^2 I)``; the classifier is ``sign(theta' x)``. Its signed distance to the boundary,
``y theta' x / |theta|``, is ``N(sigma s, sigma^2)`` with the score ``s = mu' theta / (sigma |theta|)``, and
all errors below are its tail probabilities, ``Q(z) = P(N(0, 1) > z)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from scipy.integrate import trapezoid

from wassermix.core.errors import InputError

__all__ = [
    "certified_accuracy",
    "certified_accuracy_of_draws",
    "l2_error",
    "linf_bound",
    "linf_error",
    "sample",
    "score",
    "smoothed_error",
    "standard_error",
    "tail",
]

Values = NDArray[np.float64]


def tail(z: float | Values) -> Values:
    """``Q(z) = P(N(0, 1) > z)``, of the shape of ``z``. (The paper prints 1/(2 pi) before one integral.)"""
    return np.asarray(special.ndtr(-np.asarray(z, dtype=np.float64)))


def score(theta: Values, mu: Values, sigma: float) -> Values:
    """``s = mu' theta / (sigma |theta|)``: how many standard deviations the class means are off the boundary.

    ``theta (..., d)``, ``mu (d,)`` -> ``(...)``.
    """
    theta, mu = np.asarray(theta, dtype=np.float64), np.asarray(mu, dtype=np.float64)
    length = np.linalg.norm(theta, axis=-1)
    if sigma <= 0 or np.any(length == 0) or theta.shape[-1] != mu.shape[-1]:
        raise InputError(
            f"score: got sigma {sigma}, theta {theta.shape} and mu {mu.shape}; "
            "expected sigma > 0, the same last dimension and no theta that is zero"
        )
    return np.asarray(theta @ mu / (sigma * length))


def standard_error(theta: Values, mu: Values, sigma: float) -> Values:
    """``P(sign(theta' x) != y) = Q(s)`` (appendix, "Standard accuracy"); ``(..., d)`` -> ``(...)``."""
    return tail(score(theta, mu, sigma))


def l2_error(theta: Values, mu: Values, sigma: float, *, eps: float) -> Values:
    """The error when each ``x`` moves by at most ``eps`` in l2: ``Q(s - eps / sigma)``.

    The worst step is ``-eps y theta / |theta|``. The term does not depend on ``theta``: a better score is a
    smaller attacked error.
    """
    return tail(score(theta, mu, sigma) - eps / sigma)


def linf_error(theta: Values, mu: Values, sigma: float, *, eps: float) -> Values:
    """The error when each coordinate moves by at most ``eps``: ``Q(s - eps |theta|_1 / (sigma |theta|_2))``.

    The worst step is ``-eps y sign(theta)``. The term depends on ``theta``, so a better score is *not* always
    a smaller attacked error; the theorem's proof uses :func:`linf_bound`, where it is.
    """
    theta = np.asarray(theta, dtype=np.float64)
    ratio = np.linalg.norm(theta, 1, axis=-1) / np.linalg.norm(theta, axis=-1)
    return tail(score(theta, mu, sigma) - eps * ratio / sigma)


def linf_bound(theta: Values, mu: Values, sigma: float, *, eps: float) -> Values:
    """``Q(s - eps sqrt(d) / sigma)``, which the paper's proof calls the linf error: an upper bound of it.

    ``|theta|_1 <= sqrt(d) |theta|_2``, equal only where all coordinates of ``theta`` have the same size.
    """
    return tail(score(theta, mu, sigma) - eps * np.sqrt(np.shape(theta)[-1]) / sigma)


def smoothed_error(theta: Values, mu: Values, sigma: float, *, noise: float) -> Values:
    """``P(sign(theta' (x + delta)) != y)`` with ``delta ~ N(0, noise^2 I)``.

    ``Q(mu' theta / (|theta| sqrt(sigma^2 + noise^2)))`` (appendix, "smoothed classifier"). Variances
    add up; the paper adds the standard deviations, ``sigma + noise``.
    """
    return tail(score(theta, mu, float(np.hypot(sigma, noise))))


def certified_accuracy(theta: Values, mu: Values, sigma: float, *, radius: float) -> Values:
    """Share of samples that randomized smoothing classifies rightly with a radius of at least ``radius``.

    ``1 - Q(s - radius / sigma)``, with the smoothed classifier's probabilities known exactly. Under noise
    ``sigma_s`` a sample at signed distance ``D`` has ``p = Phi(D / sigma_s)`` and so the certified radius
    ``sigma_s Phi^-1(p) = D``: its true distance, whatever the noise. That is one minus :func:`l2_error`.
    """
    return 1 - l2_error(theta, mu, sigma, eps=radius)


def certified_accuracy_of_draws(
    theta: Values, mu: Values, sigma: float, *, radius: float, noise: float, draws: int, alpha: float = 0.001
) -> float:
    """The expected certified accuracy at ``radius`` when ``draws`` noisy votes bound the probability.

    ``E_D P(Binomial(n, Phi(D / noise)) >= k)``, where ``D ~ N(sigma s, sigma^2)`` and ``k`` is the least
    count whose Clopper-Pearson lower bound reaches ``p = Phi(radius / noise)``, which is the least ``k`` with
    ``P(Binomial(n, p) >= k) <= alpha``; 0 where that is above ``n``. The class is taken as given (the rare
    wrong picks of the first stage are left out). Unlike the population's value it depends on the noise.
    ``theta (d,)``.
    """
    least = stats.binom.isf(alpha, draws, special.ndtr(radius / noise)) + 1
    if least > draws:
        return 0.0
    standard = np.linspace(-9, 9, 20_001)
    distance = sigma * (float(score(theta, mu, sigma)) + standard)
    reached = stats.binom.sf(least - 1, draws, special.ndtr(distance / noise))
    return float(trapezoid(reached * stats.norm.pdf(standard), standard))


def sample(mu: Values, sigma: float, count: int, *, generator: np.random.Generator) -> tuple[Values, Values]:
    """Draws of the model: ``x (count, d)`` and ``y (count,)``, each -1 or +1."""
    mu = np.asarray(mu, dtype=np.float64)
    y = generator.choice(np.array([-1.0, 1.0]), count)
    return y[:, None] * mu + sigma * generator.standard_normal((count, len(mu))), y
