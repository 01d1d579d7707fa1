"""Bounds on counts: what ``hits`` out of ``draws`` prove about a probability; pure functions, float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from wassermix.certify.settings import Prior

__all__ = [
    "capped",
    "certified_radius",
    "clopper_pearson_lower",
    "false_certificates",
    "log_e_value",
    "randomised_lower",
    "randomised_tail",
    "smallest_hits",
    "time_uniform_lower",
    "union_of_looks_levels",
]

JEFFREYS: Prior = ((1.0, 0.5, 0.5),)
SMALLEST_UNIFORM = 0.05
"""No smaller number is used in the randomised bound."""
LOG_LEAST_MASS = float(np.log(1e-290))
"""From here on a prior's mass above a hypothesis is known to all digits; near underflow numbers lose them."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def clopper_pearson_lower(hits: npt.ArrayLike, draws: npt.ArrayLike, alpha: npt.ArrayLike) -> Floats:
    """The one-sided lower bound ``Beta^-1(alpha; k, n-k+1)``, 0 where ``k = 0``.

    Valid for a number of draws that was fixed in advance. ``hits`` may be fractional (for planning).
    """
    k, n, level = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (hits, draws, alpha)))
    some = np.where(k > 0, k, 1.0)
    return np.where(k > 0, special.betaincinv(some, n - some + 1, level), 0.0)


def randomised_tail(
    hits: npt.ArrayLike, draws: npt.ArrayLike, p: npt.ArrayLike, uniform: npt.ArrayLike
) -> Floats:
    """``P_p(X > k) + U P_p(X = k)``, which grows with p: the level at which the counts refute ``p``."""
    k, n, q, u = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (hits, draws, p, uniform)))
    some, rest = np.where(k > 0, k, 1.0), np.where(k < n, n - k, 1.0)
    at_least = np.where(k > 0, special.betainc(some, n - some + 1, q), 1.0)
    above = np.where(k < n, special.betainc(n - rest + 1, rest, q), 0.0)
    return np.asarray((1 - u) * above + u * at_least, dtype=np.float64)


def capped(uniform: npt.ArrayLike, alpha: float) -> Floats:
    """The image's number U, as 0.05 or ``2 alpha`` at least: a smaller one would prove absurdly much."""
    return np.clip(np.asarray(uniform, dtype=np.float64), min(1.0, max(SMALLEST_UNIFORM, 2 * alpha)), 1.0)


def randomised_lower(
    hits: npt.ArrayLike, draws: npt.ArrayLike, alpha: float, uniform: npt.ArrayLike
) -> Floats:
    """Stevens' (1950) randomised bound: the p with ``P_p(X > k) + U P_p(X = k) = alpha``.

    With U uniform on (0, 1) and drawn independently of the votes its level is exactly ``alpha``, so it is
    never below Clopper and Pearson's, which is U = 1. U is :func:`capped`, which only lowers the bound.
    """
    k, n, u = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (hits, draws, uniform)))
    u, low = capped(u, alpha), clopper_pearson_lower(k, n, alpha)
    if bool((u >= 1).all()):
        return low
    high = np.where(k < n, clopper_pearson_lower(np.minimum(k + 1, n), n, alpha), 1.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        refuted = (u < 1) & (randomised_tail(k, n, middle, u) <= alpha)
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def certified_radius(probability: npt.ArrayLike, sigma: float) -> Floats:
    """``sigma * Phi^-1(p)``, and 0 where ``p <= 1/2``: the l2 radius that a class probability proves."""
    p = np.asarray(probability, dtype=np.float64)
    return np.asarray(sigma * special.ndtri(np.maximum(p, 0.5)), dtype=np.float64)


def log_e_value(
    hits: npt.ArrayLike,
    draws: npt.ArrayLike,
    p0: npt.ArrayLike,
    *,
    atom: float = 0.5,
    prior: Prior = JEFFREYS,
) -> Floats:
    r"""The logarithm of the mixture e-value against ``p <= p0``.

    .. math:: e = w\,1[k=n]\,p_0^{-n} + (1-w) \int_{p_0}^1
              \frac{q^k (1-q)^{n-k}}{p_0^k (1-p_0)^{n-k}}\,\pi(q)\,dq

    with ``w = atom`` and a mixture of betas as ``prior``, Beta(1/2, 1/2) unless given, restricted to
    ``(p0, 1]``. For every true ``p <= p0`` and every prior that was fixed before the draws it is a
    non-negative supermartingale started at 1, so it ever reaches ``1/alpha`` with probability at most
    ``alpha``, whenever one looks. The integral counts as 0 where ``k <= n*p0``: that only lowers e, and it
    keeps the incomplete beta function away from underflow. So it does where the prior has no mass above
    ``p0`` that floating point can tell from none.
    """
    k, n, p = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (hits, draws, p0)))
    flawless = np.where(k == n, np.log(atom) - n * np.log(p), -np.inf)
    above = k > n * p
    k, n, p = np.where(above, k, 1.0), np.where(above, n, 1.0), np.where(above, p, 0.5)
    before = _log_mass(0.0, 0.0, p, prior)
    known = before > LOG_LEAST_MASS  # the mass divides, so one that underflows would prove anything
    evidence = np.where(known, _log_mass(k, n - k, p, prior) - np.where(known, before, 0.0), -np.inf)
    ratio = evidence - k * np.log(p) - special.xlog1py(n - k, -p)
    return np.logaddexp(flawless, np.where(above, np.log1p(-atom) + ratio, -np.inf))


def _log_mass(k: Floats | float, failures: Floats | float, p: Floats, prior: Prior) -> Floats:
    """``log of the integral over (p, 1] of q^k (1-q)^failures`` under a mixture of betas."""
    with np.errstate(divide="ignore"):  # a tail that underflows is none
        parts = [
            np.log(weight)
            + special.betaln(k + a, failures + b)
            - special.betaln(a, b)
            + np.log(special.betaincc(k + a, failures + b, p))
            for weight, a, b in prior
        ]
    return np.asarray(np.logaddexp.reduce(parts), dtype=np.float64)


def time_uniform_lower(
    hits: npt.ArrayLike, draws: npt.ArrayLike, alpha: float, *, atom: float = 0.5
) -> Floats:
    """``inf{p0 : e(p0) < 1/alpha}``: a lower bound that holds at all times at once, however one stops.

    Where e is as large as ``1/alpha`` it falls with ``p0``, so bisection finds the crossing; the lower
    end of the last bracket is returned.
    """
    k, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(draws, dtype=np.float64))
    low, high = np.zeros(k.shape), np.where(n > 0, k / np.maximum(n, 1), 0.0)
    for _ in range(64):
        middle = 0.5 * (low + high)
        inside = middle > 0
        rejected = inside & (log_e_value(k, n, np.where(inside, middle, 0.5), atom=atom) >= -np.log(alpha))
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def smallest_hits(enough: Callable[[Ints], npt.NDArray[np.bool_]], draws: npt.ArrayLike) -> Ints:
    """The smallest count that is ``enough`` (a condition monotone in the count), ``draws + 1`` if none is."""
    n = np.asarray(draws, dtype=np.int64)
    low, high = np.zeros_like(n), n + 1  # the answer lies in [low, high]
    while np.any(low < high):
        middle = (low + high) // 2
        good = (middle > n) | enough(np.minimum(middle, n))
        low, high = np.where(good, low, np.minimum(middle + 1, high)), np.where(good, middle, high)
    return high


def union_of_looks_levels(looks: int, alpha: float) -> Floats:
    """Levels of a Clopper-Pearson bound at each look: half of ``alpha`` on the last, the rest spread evenly.

    By the union bound all of them hold at once with probability ``1 - alpha``; simpler than the e-value,
    costlier in draws, and a cross-check of it.
    """
    if looks == 1:
        return np.array([alpha])
    return np.append(np.full(looks - 1, 0.5 * alpha / (looks - 1)), 0.5 * alpha)


def false_certificates(images: int, alpha: float, *, rho: float = 0.05) -> int:
    """How many of ``images`` certificates may be false, at confidence ``1 - rho``.

    Each is false with probability at most ``alpha`` and their noise is independent, so the count lies
    stochastically below a binomial one; this is its ``1 - rho`` quantile.
    """
    return int(stats.binom.ppf(1 - rho, images, alpha)) if images else 0
