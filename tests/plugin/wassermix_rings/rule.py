"""A certificate rule: when to stop, and which radius the counts prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from wassermix.certify.bounds import certified_radius


@dataclass(frozen=True)
class HoeffdingRule:
    """One look after ``n`` draws, with Hoeffding's bound: ``hits / n - sqrt(log(1 / alpha) / (2 n))``."""

    sigma: float
    n: int
    alpha: float
    counts_label: ClassVar[bool] = False
    rounds_down: ClassVar[bool] = False

    @property
    def looks(self) -> tuple[int, ...]:
        """One look."""
        return (self.n,)

    def finished(self, look: int, hits: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Always: there is one look."""
        return np.ones(np.shape(hits), dtype=bool)

    def radius(
        self, draws: npt.NDArray[np.int64], hits: npt.NDArray[np.int64], uniform: npt.ArrayLike = 1.0
    ) -> npt.NDArray[np.float64]:
        """``sigma * Phi^-1`` of the bound, NaN where it is below 1/2."""
        bound = hits / draws - np.sqrt(np.log(1 / self.alpha) / (2 * draws))
        return np.where(bound >= 0.5, certified_radius(bound, self.sigma), np.nan)
