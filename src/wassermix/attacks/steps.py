"""How a gradient attack walks: its usual step and start, and the words for another."""

from __future__ import annotations

import math

__all__ = ["TRAVEL", "other_walk", "usual_step"]

TRAVEL = {"pgd": 2.5, "smoothed": 2.0}
"""How many radii all steps are long together, unless the length of one is given."""


def usual_step(attack: str, eps: float, steps: int) -> float:
    """The length of a step where none is given, such as ``2.5 * eps / steps``."""
    return TRAVEL[attack] * eps / steps


def other_walk(step: float | None, usual: float, *, from_x: bool) -> list[str]:
    """What differs from the usual walk: ``step 1`` of that length, ``from x`` itself and no random point.

    Titles and the heads of tables have these words, names of files have them with dashes.
    """
    other = step is not None and not math.isclose(step, usual, rel_tol=1e-6)
    return [*([f"step {step:.4g}"] if other else []), *(["from x"] if from_x else [])]
