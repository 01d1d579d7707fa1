"""Small tests for a table's comparisons: difference, equivalence, Holm's correction, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

__all__ = ["LEVEL", "Answer", "Estimate", "Expected", "decide", "equivalence", "estimate_of", "recovered"]

Expected = Literal["higher", "lower", "same"]
Answer = Literal["holds", "does not hold", "cannot be told"]
LEVEL = 0.05
"""The probability, for each table and kind of test, that any of its rejections is wrong."""


@dataclass(frozen=True)
class Estimate:
    """A mean difference, its standard error, and the degrees of freedom of Student's law about it."""

    mean: float
    error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The two-sided interval at ``level``."""
        half = float(stats.t.ppf((1 + level) / 2, self.freedom)) * self.error
        return self.mean - half, self.mean + half

    @property
    def p_difference(self) -> float:
        """Two-sided p-value of "there is no difference"."""
        return min(1.0, 2 * self._beyond(0.0, above=self.mean > 0)) if self.mean else 1.0

    def _beyond(self, value: float, *, above: bool) -> float:
        """One-sided p-value of "the truth is at most ``value``" (``above``), or "at least"."""
        gap = self.mean - value if above else value - self.mean
        if self.error == 0:
            return 0.0 if gap > 0 else 1.0
        return float(stats.t.sf(gap / self.error, self.freedom))


def equivalence(estimate: Estimate, margin: float) -> float:
    """P-value of "the difference is ``margin`` or more, either way": two one-sided tests, the larger counts.

    Below 0.05 exactly when the 90% interval lies within (-margin, margin) (Schuirmann 1987).
    """
    return max(estimate._beyond(-margin, above=True), estimate._beyond(margin, above=False))


def decide(
    expects: Expected, mean: float, *, p_difference: float, p_equivalence: float, margin: float
) -> Answer:
    """What adjusted p-values say about a claim.

    A claim of a difference holds where one is shown its way; it does not hold where one is shown the other
    way, or where the two are shown to be equivalent. A claim of sameness holds where equivalence is shown,
    and does not where a difference is shown whose estimate is beyond ``margin``. Else it cannot be told.
    """
    differs, same = p_difference < LEVEL, p_equivalence < LEVEL
    if expects == "same":
        apart = differs and abs(mean) > margin
        return "holds" if same else "does not hold" if apart else "cannot be told"
    if differs:
        return "holds" if (mean > 0) == (expects == "higher") else "does not hold"
    return "does not hold" if same else "cannot be told"


def estimate_of(gap: Mapping[str, Any], *, seeds: int, units: int) -> Estimate:
    """The estimate behind a difference that a record holds; early records keep its interval only."""
    if "error" in gap:
        return Estimate(gap["mean"], gap["error"], gap["freedom"])
    half = (gap["high"] - gap["low"]) / 2
    return recovered(gap["mean"], half, seeds=seeds, seed_sd=gap.get("seed_sd"), units=units)


def recovered(mean: float, half: float, *, seeds: int, seed_sd: float | None, units: int) -> Estimate:
    """The estimate behind a 95% interval of ``mean`` plus or minus ``half`` whose error was not kept.

    ``paired_difference`` adds the variance over ``units`` (images, or pairs of classes) to that over seeds,
    ``seed_sd^2 / seeds``, with Welch's degrees of freedom. The first is solved for; where several solve it,
    the one with the fewest degrees of freedom, the most cautious, is taken.
    """
    if seeds < 2 or seed_sd is None or half == 0:
        return Estimate(mean, half / float(stats.t.ppf(0.975, units - 1)), units - 1)
    between = seed_sd**2 / seeds
    within = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 4000) * half**2])
    whole = within + between
    freedom = whole**2 / np.maximum(within**2 / (units - 1) + between**2 / (seeds - 1), 1e-300)
    freedom = np.maximum(freedom, 1.0)
    gaps = stats.t.ppf(0.975, freedom) * np.sqrt(whole) - half
    crossings = np.flatnonzero(np.diff(np.sign(gaps)) != 0)
    best = crossings[0] if len(crossings) else int(np.argmin(np.abs(gaps)))
    return Estimate(mean, float(half / stats.t.ppf(0.975, freedom[best])), float(freedom[best]))
