"""Which new samples are most worth labelling, drawn so that the interval stays valid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wassermix.core.errors import InputError
from wassermix.drift.views import Floats, Ints

__all__ = ["Asked", "ask"]

UNIFORM = 0.3
"""The share of draws that ignores the estimate: it bounds every weight by 1 / 0.3."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The samples to label: their rows, and the weights that :func:`powered_interval` takes."""

    index: Ints
    weights: Floats


def ask(chances: Floats, count: int, *, rng: np.random.Generator) -> Asked:
    """``count`` draws with replacement, more often where the estimate is unsure whether the model is right.

    The chance of sample ``j`` in each draw is ``p_j = 0.7 s_j / sum s + 0.3 / N`` with ``s_j = sqrt(q_j (1 -
    q_j))``, the deviation of a guess that is right with chance ``q_j``; its weight is ``1 / (N p_j)``. A
    sample may be drawn twice: it then counts twice.
    """
    total = len(chances)
    if not 1 <= count <= total:
        raise InputError(f"--ask {count}; expected 1 to {total}, the number of new samples")
    unsure = np.sqrt(np.clip(chances * (1 - chances), 0, None)) + 1e-9
    p = (1 - UNIFORM) * unsure / unsure.sum() + UNIFORM / total
    index = np.sort(rng.choice(total, size=count, p=p / p.sum()))
    return Asked(index, 1 / (total * p[index]))
