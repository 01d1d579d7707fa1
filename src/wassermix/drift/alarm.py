"""An alarm that stays valid however often one looks: betting against "no more than so much is lost"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wassermix.core.errors import InputError
from wassermix.drift.views import Floats

__all__ = ["MOST", "Alarm", "Wealth"]

STAKES = (0.1, 0.25, 0.5, 0.75, 0.95)
"""Bets as shares of the largest that cannot ruin; their mean is the wealth."""
MOST = float(np.exp(700.0))
"""Wealth is told up to here: a long loss would overflow, and infinity is no JSON."""


@dataclass(frozen=True)
class Wealth:
    """How the bets stand: the logarithm of what each stake has grown to."""

    logs: tuple[float, ...] = (0.0,) * len(STAKES)

    @property
    def value(self) -> float:
        """The mean wealth over the stakes, each told up to :data:`MOST`; 1 at the start."""
        return float(np.exp(np.minimum(self.logs, np.log(MOST))).mean())


@dataclass(frozen=True)
class Alarm:
    """Tests ``E[batch estimate] >= floor`` over a stream of batches, at level ``alpha`` for all times.

    Each batch's estimate ``A_b`` in [0, 1] multiplies the wealth of stake ``s`` by ``1 + s (floor - A_b) /
    (1 - floor)``. While the expected estimate is at least ``floor``, the mean wealth is a supermartingale, so
    (Ville) it ever reaches ``1 / alpha`` with a chance of at most ``alpha``, whenever and however often
    one looks. ``floor`` is the reference's accuracy less the loss that is tolerated. What is tested is the
    *estimate*: an estimator that errs downwards by more than the tolerated loss raises false alarms.
    """

    floor: float
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.floor < 1 or not 0 < self.alpha < 1:
            raise InputError(
                f"an alarm needs floor and alpha between 0 and 1; got {self.floor}, {self.alpha}"
            )

    def update(self, wealth: Wealth, estimate: float) -> Wealth:
        """The wealth after one more batch."""
        gain = (self.floor - estimate) / (1 - self.floor)
        grown = zip(wealth.logs, STAKES)
        return Wealth(tuple(float(log + np.log1p(stake * gain)) for log, stake in grown))

    def raised(self, wealth: Wealth) -> bool:
        """Whether the loss is shown to exceed what is tolerated."""
        return wealth.value >= 1 / self.alpha

    def run(self, estimates: Floats) -> list[float]:
        """The wealth after each of a sequence of batches."""
        wealth, found = Wealth(), []
        for estimate in estimates:
            wealth = self.update(wealth, float(estimate))
            found.append(wealth.value)
        return found
