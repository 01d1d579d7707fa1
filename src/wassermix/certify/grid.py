"""The rule ``grid``: climb the radii in order with e-values, and stop when nothing more can be proved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from wassermix.certify.bounds import (
    JEFFREYS,
    Floats,
    Ints,
    Prior,
    capped,
    log_e_value,
    randomised_tail,
    smallest_hits,
)
from wassermix.certify.rule import look_schedule, reachable

__all__ = ["GridRule"]


@dataclass(frozen=True)
class GridRule:
    """Climb ``radii`` in order with e-values, stop when all are proved or the next is hopeless.

    At a look before the budget radius ``r_j`` is proved where the e-value against
    ``p <= Phi(r_j / sigma)`` and those of all smaller radii reach ``1 / (share * alpha)``; at the budget
    one Clopper-Pearson bound (randomised) at level ``(1 - share) * alpha`` decides, or the e-value there too
    where ``share`` is 1. The hypotheses are
    nested, so climbing costs no further alpha: a false certificate needs the first true hypothesis rejected,
    which happens with probability at most ``alpha`` under any stopping. What is proved depends on the
    counts at the stop only, never on an earlier look, so draws, hits and
    the image's uniform number are the whole certificate. ``prior`` () is Beta(1/2, 1/2).
    """

    sigma: float
    radii: tuple[float, ...]
    n: int
    alpha: float
    atom: float = 0.5
    share: float = 0.5
    prior: Prior = ()
    counts_label: ClassVar[bool] = True
    rounds_down: ClassVar[bool] = True
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

    def finished(self, look: int, hits: Ints) -> npt.NDArray[np.bool_]:
        """All radii proved, or the next one hopeless, or the budget spent."""
        hits = np.asarray(hits)
        if look == len(self.looks) - 1:
            return np.ones(hits.shape, dtype=bool)
        climbed = np.sum(hits[..., None] >= self.needed[look], axis=-1)
        bar = np.append(self.hopeful[look], np.iinfo(np.int64).max)  # past the last radius: stop
        return np.asarray(hits < bar[climbed])

    def radius(self, draws: Ints, hits: Ints, uniform: npt.ArrayLike = 1.0) -> Floats:
        """The largest radius climbed to with these counts, NaN where not even the first is proved."""
        draws, hits, u = (np.asarray(one)[..., None] for one in (draws, hits, uniform))
        climbed = np.logical_and.accumulate(self._proves(draws, hits, u), axis=-1).sum(axis=-1)
        steps = np.append(np.asarray(self.radii), np.nan)  # climbed 0 picks the NaN at the end
        return np.asarray(steps[climbed - 1])

    def _proves(self, draws: Ints, hits: Ints, uniform: npt.ArrayLike = 1.0) -> npt.NDArray[np.bool_]:
        evidence = log_e_value(hits, draws, self.thresholds, atom=self.atom, prior=self.prior or JEFFREYS)
        early = evidence >= -np.log(self.share * self.alpha)
        if self.share == 1:  # nothing is left for a bound at the budget: the e-value decides there too
            return np.asarray(early)
        level = (1 - self.share) * self.alpha
        final = randomised_tail(hits, draws, self.thresholds, capped(uniform, level)) <= level
        return np.where(draws < self.n, early, final)

    def _hopes(self, draws: Ints, hits: Ints) -> npt.NDArray[np.bool_]:
        level = (1 - self.share) * self.alpha or self.alpha
        return reachable(hits, draws, self.n, level) >= self.thresholds
