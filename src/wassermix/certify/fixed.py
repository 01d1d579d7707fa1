"""The rule ``fixed``: Cohen's procedure, one look after all draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wassermix.certify.bounds import Floats, Ints, certified_radius, randomised_lower

__all__ = ["FixedRule"]


@dataclass(frozen=True)
class FixedRule:
    """Cohen et al. (2019): one look after ``n`` draws, a (randomised) Clopper-Pearson bound at ``alpha``."""

    sigma: float
    n: int
    alpha: float
    counts_label: ClassVar[bool] = False
    rounds_down: ClassVar[bool] = False

    @property
    def looks(self) -> tuple[int, ...]:
        """One look."""
        return (self.n,)

    def finished(self, look: int, hits: Ints) -> npt.NDArray[np.bool_]:
        """Always: there is one look."""
        return np.ones(np.shape(hits), dtype=bool)

    def radius(self, draws: Ints, hits: Ints, uniform: npt.ArrayLike = 1.0) -> Floats:
        """``sigma * Phi^-1(lower bound)``, NaN where the bound is below 1/2."""
        bound = randomised_lower(hits, draws, self.alpha, uniform)
        return np.where(bound >= 0.5, certified_radius(bound, self.sigma), np.nan)
