"""How a gradient attack walks: its usual step and start, and the words for another."""

from __future__ import annotations

import math

from wassermix.core.errors import InputError
from wassermix.core.settings import read_number

__all__ = ["TRAVEL", "other_walk", "read_step", "step_at", "usual_step"]

TRAVEL = {"pgd": 2.5, "smoothed": 2.0}
"""How many radii all steps are long together, unless the length of one is given."""


def usual_step(attack: str, eps: float, steps: int) -> float:
    """The length of a step where none is given, such as ``2.5 * eps / steps``."""
    return TRAVEL[attack] * eps / steps


def read_step(attack: str, step_size: float | str | None, eps: float) -> float | None:
    """A given length of step as a number, which a config may write as ``1/4``; None for the usual one."""
    if step_size is None:
        if math.isinf(eps):
            raise InputError(
                f"attack: an infinite eps needs a step_size; the default is {TRAVEL[attack]:g} * eps / steps"
            )
        return None
    step = read_number(step_size)
    if not 0 <= step < math.inf:
        raise InputError(f"attack: step_size is {step}; expected a length, finite and not below 0")
    return step


def step_at(step_size: float | None, *, before: float, after: float) -> float | None:
    """The step that goes with radius ``after`` where ``step_size`` was given for ``before``: in proportion.

    From a radius of zero or infinity there is nothing to scale, and the step is the usual one; to an
    infinite one it stays as it is.
    """
    if step_size is None or math.isinf(after):
        return step_size
    return None if before == 0 or math.isinf(before) else step_size * after / before


def other_walk(step: float | None, usual: float, *, from_x: bool) -> list[str]:
    """What differs from the usual walk: ``step 1`` of that length, ``from x`` itself and no random point.

    Titles and the heads of tables have these words, names of files have them with dashes.
    """
    other = step is not None and not math.isclose(step, usual, rel_tol=1e-6)
    return [*([f"step {step:.4g}"] if other else []), *(["from x"] if from_x else [])]
