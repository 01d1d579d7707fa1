"""The rule ``tolerance``: stop when the radius is known closely enough, for the average certified radius."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from wassermix.certify.bounds import (
    Floats,
    Ints,
    certified_radius,
    log_e_value,
    randomised_lower,
    time_uniform_lower,
)
from wassermix.certify.rule import look_schedule, reachable

__all__ = ["ToleranceRule"]


@dataclass(frozen=True)
class ToleranceRule:
    """Stop when the radius is known to within ``tolerance``: for the average certified radius.

    The lower end is the time-uniform bound at level ``share * alpha``, valid under any stopping; at the
    budget a Clopper-Pearson bound (randomised) at the rest of ``alpha`` may raise it. The upper end is the
    radius that the whole budget might still reach, a guess that only decides when to stop.
    """

    sigma: float
    tolerance: float
    n: int
    alpha: float
    atom: float = 0.5
    share: float = 0.5
    counts_label: ClassVar[bool] = True
    rounds_down: ClassVar[bool] = False

    @property
    def looks(self) -> tuple[int, ...]:
        """The common schedule of looks."""
        return look_schedule(self.n)

    def finished(self, look: int, hits: Ints) -> npt.NDArray[np.bool_]:
        """Lower end within ``tolerance`` of the upper one, or hopeless, or the budget spent.

        The lower radius exceeds ``u - tolerance`` exactly where the e-value against that point's
        probability is at least ``1 / (share alpha)``, so no bisection is needed to decide.
        """
        draws = np.asarray(self.looks[look])
        if draws == self.n:
            return np.ones(np.shape(hits), dtype=bool)
        upper = reachable(np.asarray(hits), draws, self.n, (1 - self.share) * self.alpha or self.alpha)
        near = special.ndtr((certified_radius(upper, self.sigma) - self.tolerance) / self.sigma)
        evidence = log_e_value(hits, draws, np.maximum(near, 0.5), atom=self.atom)
        return np.asarray((upper < 0.5) | (evidence >= -np.log(self.share * self.alpha)))

    def radius(self, draws: Ints, hits: Ints, uniform: npt.ArrayLike = 1.0) -> Floats:
        """``sigma * Phi^-1`` of the lower bound, NaN where that is below 1/2."""
        bound = time_uniform_lower(hits, draws, self.share * self.alpha, atom=self.atom)
        if self.share < 1:
            final = randomised_lower(hits, draws, (1 - self.share) * self.alpha, uniform)
            bound = np.where(np.asarray(draws) < self.n, bound, np.maximum(bound, final))
        return np.where(bound >= 0.5, certified_radius(bound, self.sigma), np.nan)
