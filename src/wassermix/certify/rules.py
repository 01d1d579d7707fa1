"""The stopping rules: when an image has seen enough noise, and which radius its counts prove."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy import special

from wassermix.certify.bounds import (
    Floats,
    Ints,
    certified_radius,
    clopper_pearson_lower,
    log_e_value,
    smallest_hits,
    time_uniform_lower,
)
from wassermix.certify.settings import BLOCK, CertifySettings

__all__ = ["FixedRule", "GridRule", "Rule", "ToleranceRule", "look_schedule", "rule_for"]


class Rule(Protocol):
    """A certifier as a function of counts alone, so that it can be simulated, replayed and verified."""

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of draws at which the counts are looked at; the last is the budget."""

    def finished(self, look: int, hits: Ints) -> np.ndarray:
        """Whether each path with these hits at look number ``look`` stops there."""

    def radius(self, draws: Ints, hits: Ints) -> Floats:
        """The radius that the counts at the stop prove; NaN where they prove nothing (abstain)."""


def look_schedule(n: int) -> tuple[int, ...]:
    """100, 200, 400, 700, 1,000 draws, then every 1,000, rounded up to whole noise blocks, and ``n``."""
    wanted = [100, 200, 400, 700, *range(1000, n, 1000)]
    rounded = sorted({-(-count // BLOCK) * BLOCK for count in wanted})
    return (*(count for count in rounded if count < n), n)


def _reachable(hits: Ints, draws: Ints, n: int, alpha: float) -> Floats:
    """The bound that ``n`` draws would give if the hit rate still rose as far as it plausibly may.

    The rate after ``n`` draws differs from that after ``draws`` by a standard deviation of
    ``sqrt(p (1-p) (1/draws - 1/n))``. Of 1.5, 1.75, 2 and 2.5 of them, 1.75 was picked on simulated
    images spread like MNIST's published certified accuracies at sigma 0.5 (beyond 3.5 sigma the spread
    was assumed): fewer draws than 2 at about its loss, while 1.5 lost more at 3 sigma. A guess that only
    decides when to stop: no guarantee rests on it.
    """
    rate = hits / draws
    best = np.minimum(1.0, rate + 1.75 * np.sqrt(rate * (1 - rate) * (1 / draws - 1 / n)))
    return clopper_pearson_lower(best * n, n, alpha)


@dataclass(frozen=True)
class FixedRule:
    """Cohen et al. (2019): one look after ``n`` draws, a Clopper-Pearson bound at level ``alpha``."""

    sigma: float
    n: int
    alpha: float

    @property
    def looks(self) -> tuple[int, ...]:
        """One look."""
        return (self.n,)

    def finished(self, look: int, hits: Ints) -> np.ndarray:
        """Always: there is one look."""
        return np.ones(np.shape(hits), dtype=bool)

    def radius(self, draws: Ints, hits: Ints) -> Floats:
        """``sigma * Phi^-1(lower bound)``, NaN where the bound is below 1/2."""
        bound = clopper_pearson_lower(hits, draws, self.alpha)
        return np.where(bound >= 0.5, certified_radius(bound, self.sigma), np.nan)


@dataclass(frozen=True)
class GridRule:
    """Climb ``radii`` in order with e-values, stop when all are proved or the next is hopeless.

    At a look before the budget radius ``r_j`` is proved where the e-value against
    ``p <= Phi(r_j / sigma)`` and those of all smaller radii reach ``1 / (share * alpha)``; at the budget
    one Clopper-Pearson bound at level ``(1 - share) * alpha`` decides. The hypotheses are nested, so
    climbing costs no further alpha: a false certificate needs the first true hypothesis rejected,
    which happens with probability at most ``alpha`` under any stopping. What is proved depends on the
    counts at the stop only, never on an earlier look, so draws and hits are the whole certificate.
    """

    sigma: float
    radii: tuple[float, ...]
    n: int
    alpha: float
    atom: float = 0.5
    share: float = 0.5
    looks: tuple[int, ...] = field(init=False)
    needed: Ints = field(init=False, repr=False, compare=False)
    """Fewest hits that prove radius j at each look (looks, radii); non-decreasing in j."""
    hopeful: Ints = field(init=False, repr=False, compare=False)
    """Fewest hits at which radius j is not yet hopeless at each look (looks, radii)."""

    def __post_init__(self) -> None:
        looks = look_schedule(self.n)
        object.__setattr__(self, "looks", looks)
        draws = np.broadcast_to(np.array(looks)[:, None], (len(looks), len(self.radii)))
        needed = smallest_hits(lambda hits: self._proves(draws, hits), draws)
        hopeful = smallest_hits(lambda hits: self._hopes(draws, hits), draws)
        object.__setattr__(self, "needed", np.maximum.accumulate(needed, axis=1))
        object.__setattr__(self, "hopeful", hopeful)

    @property
    def thresholds(self) -> Floats:
        """``p_j = Phi(r_j / sigma)``, shape (radii,)."""
        return np.asarray(special.ndtr(np.asarray(self.radii) / self.sigma), dtype=np.float64)

    def finished(self, look: int, hits: Ints) -> np.ndarray:
        """All radii proved, or the next one hopeless, or the budget spent."""
        hits = np.asarray(hits)
        if look == len(self.looks) - 1:
            return np.ones(hits.shape, dtype=bool)
        climbed = np.sum(hits[..., None] >= self.needed[look], axis=-1)
        bar = np.append(self.hopeful[look], np.iinfo(np.int64).max)  # past the last radius: stop
        return np.asarray(hits < bar[climbed])

    def radius(self, draws: Ints, hits: Ints) -> Floats:
        """The largest radius climbed to with these counts, NaN where not even the first is proved."""
        draws, hits = np.asarray(draws)[..., None], np.asarray(hits)[..., None]
        climbed = np.logical_and.accumulate(self._proves(draws, hits), axis=-1).sum(axis=-1)
        steps = np.append(np.asarray(self.radii), np.nan)  # climbed 0 picks the NaN at the end
        return np.asarray(steps[climbed - 1])

    def _proves(self, draws: Ints, hits: Ints) -> np.ndarray:
        evidence = log_e_value(hits, draws, self.thresholds, atom=self.atom)
        early = evidence >= -np.log(self.share * self.alpha)
        final = clopper_pearson_lower(hits, draws, (1 - self.share) * self.alpha) >= self.thresholds
        return np.where(draws < self.n, early, final)

    def _hopes(self, draws: Ints, hits: Ints) -> np.ndarray:
        return _reachable(hits, draws, self.n, (1 - self.share) * self.alpha) >= self.thresholds


@dataclass(frozen=True)
class ToleranceRule:
    """Stop when the radius is known to within ``tolerance``: for the average certified radius.

    The lower end is the time-uniform bound, valid under any stopping; the upper end is the radius that
    the whole budget might still reach, a guess that only decides when to stop.
    """

    sigma: float
    tolerance: float
    n: int
    alpha: float
    atom: float = 0.5

    @property
    def looks(self) -> tuple[int, ...]:
        """The common schedule of looks."""
        return look_schedule(self.n)

    def finished(self, look: int, hits: Ints) -> np.ndarray:
        """Lower end within ``tolerance`` of the upper one, or hopeless, or the budget spent.

        The lower radius exceeds ``u - tolerance`` exactly where the e-value against that point's
        probability is at least ``1/alpha``, so no bisection is needed to decide.
        """
        draws = np.asarray(self.looks[look])
        if draws == self.n:
            return np.ones(np.shape(hits), dtype=bool)
        upper = _reachable(np.asarray(hits), draws, self.n, self.alpha)
        near = special.ndtr((certified_radius(upper, self.sigma) - self.tolerance) / self.sigma)
        evidence = log_e_value(hits, draws, np.maximum(near, 0.5), atom=self.atom)
        return np.asarray((upper < 0.5) | (evidence >= -np.log(self.alpha)))

    def radius(self, draws: Ints, hits: Ints) -> Floats:
        """``sigma * Phi^-1`` of the time-uniform lower bound, NaN where that is below 1/2."""
        bound = time_uniform_lower(hits, draws, self.alpha, atom=self.atom)
        return np.where(bound >= 0.5, certified_radius(bound, self.sigma), np.nan)


@lru_cache(maxsize=32)
def _rule(
    mode: str, sigma: float, n: int, alpha: float, *, radii: tuple[float, ...], tolerance: float
) -> Rule:
    if mode == "fixed":
        return FixedRule(sigma, n, alpha)
    if mode == "grid":
        return GridRule(sigma, radii, n, alpha)
    return ToleranceRule(sigma, tolerance, n, alpha)


def rule_for(settings: CertifySettings) -> Rule:
    """The stopping rule that these settings name; its tables are computed once."""
    s = settings
    return _rule(s.mode, s.sigma, s.n, s.alpha, radii=s.radii, tolerance=s.tolerance)
