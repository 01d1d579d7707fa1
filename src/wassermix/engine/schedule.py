"""The learning rate as a pure function of the share of training done, so that resuming needs no state."""

from __future__ import annotations

import math

from wassermix.engine.sections import Schedule

__all__ = ["lr_factor"]


def lr_factor(schedule: Schedule, share: float) -> float:
    """What multiplies the base learning rate when ``share`` of the training (0 to 1) is done.

    ``step``: ``factor`` to the number of drops passed. ``onecycle``: linear from 1/25 to 1 over ``warm_up``,
    then a half cosine to 0. ``cosine``: a half cosine from 1 to 0. ``constant``: 1.
    """
    if schedule.name == "step":
        return schedule.factor ** sum(share >= drop for drop in schedule.drops)
    if schedule.name == "cosine":
        return _half_cosine(share)
    if schedule.name == "onecycle":
        if share < schedule.warm_up:
            return 0.04 + 0.96 * share / schedule.warm_up
        return _half_cosine((share - schedule.warm_up) / (1 - schedule.warm_up))
    return 1.0


def _half_cosine(share: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
