"""Two models that cross: one leads in average radius, the other in images that reach some p_A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt
from scipy import special

from wassermix.core.intervals import compare_paired

__all__ = ["AVERAGE", "ON_GRID", "Standing", "crossing", "each_of", "level_words", "standing"]

AVERAGE = "average radius"
ON_GRID = "mean radius on the grid (rounded down)"
"""What the mean of radii is where a rule knows them at the points of a grid only: no average radius."""


@dataclass(frozen=True)
class Standing:
    """Two models at one level: the share of the same images that reach it, with the interval of their gap."""

    level: str
    """The level in words, such as ``p_A of at least 0.5``."""
    shares: tuple[float, float]
    low: float
    """The lower end of the interval of the first share less the second."""
    high: float


def each_of(count: int, *, confidence: float = 0.95) -> float:
    """The confidence of each of ``count`` intervals that hold together with ``confidence`` (Bonferroni)."""
    return 1 - (1 - confidence) / max(count, 1)


def level_words(radius: float, sigma: float | None) -> str:
    """A radius as the probability under noise that it stands for; without one noise, as itself."""
    if sigma is None:
        return f"a radius of at least {radius:g}"
    at = f", radius {radius:g}" if radius else ""
    chance = float(special.ndtr(radius / sigma))
    digits = next((many for many in range(4, 17) if float(f"{chance:.{many}g}") < 1), 17)
    return f"p_A of at least {chance:.{digits}g}{at}"


def standing(level: str, first: npt.ArrayLike, second: npt.ArrayLike, *, confidence: float) -> Standing:
    """Two models' flags on the same images as a standing, by a paired interval."""
    test = compare_paired(first, second, confidence=confidence)
    images = test.both + test.first_only + test.second_only + test.neither
    shares = tuple((test.both + own) / images for own in (test.first_only, test.second_only))
    return Standing(level, (shares[0], shares[1]), test.low, test.high)


def crossing(
    names: tuple[str, str],
    radii: tuple[float, float],
    standings: Sequence[Standing],
    *,
    measure: str = AVERAGE,
) -> str | None:
    """A sentence where one of two models leads in mean radius but the other in images at some level.

    ``standings`` go from the lowest level to the highest. The lead must stand out from chance (its interval
    lies on one side of 0); of several such levels the one with the widest gap is told. Else None. That hard
    images were given up is said only where the lead at p = 0.5, radius 0, stands out from chance.
    """
    if not standings or round(radii[0], 3) == round(radii[1], 3):
        return None
    leader = int(radii[1] > radii[0])
    behind = [one for one in standings if _trails(one, leader)]
    if not behind:
        return None
    worst = min(behind, key=lambda one: _gap(one, leader))
    order = (leader, 1 - leader)
    means, shares = [f"{radii[one]:.3f}" for one in order], [f"{worst.shares[one]:.1%}" for one in order]
    return (
        f"{names[leader]} has the larger {measure} ({' against '.join(means)}), but fewer images shown to "
        f"have {worst.level} ({' against '.join(shares)} of {names[1 - leader]}): "
        f"{HARD if any(one.level in AT_ZERO for one in behind) else ELSE}"
    )


HARD = "it is surer of easy images and has given up hard ones"
ELSE = "which of the two is better depends on the radius that matters"
AT_ZERO = (level_words(0.0, 1.0), level_words(0.0, None))
"""The level that every image reaches which is classified rightly."""


def _gap(one: Standing, leader: int) -> float:
    """The share of the model that leads in radius less the other's."""
    return one.shares[leader] - one.shares[1 - leader]


def _trails(one: Standing, leader: int) -> bool:
    """Whether the model that leads in radius has fewer images here, beyond chance."""
    beyond = one.high < 0 if leader == 0 else one.low > 0
    return beyond and _gap(one, leader) < 0
