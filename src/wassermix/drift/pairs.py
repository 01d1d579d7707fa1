"""Partners along the plan: for each new sample the reference sample that it most likely comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wassermix.drift.estimators.plan import Block
from wassermix.drift.views import Floats, Ints

__all__ = ["Partners", "partners_of"]


@dataclass(frozen=True, eq=False)
class Partners:
    """One reference sample for each new one."""

    reference: Ints
    """Rows of the reference ``(m,)``."""
    certainty: Floats
    """The share of the new sample's mass that comes from its partner ``(m,)``."""


def partners_of(blocks: list[Block], count: int) -> Partners:
    """The likeliest partner of each of ``count`` new samples over all plans that reach it."""
    reference, certainty = np.zeros(count, dtype=np.int64), np.full(count, -1.0)
    for block in blocks:
        shares = block.plan / np.maximum(block.plan.sum(axis=0), 1e-300)
        best = shares.argmax(axis=0)
        value = shares[best, np.arange(len(block.rows))]
        better = value > certainty[block.rows]
        rows = block.rows[better]
        reference[rows], certainty[rows] = block.fold[best[better]], value[better]
    return Partners(reference, certainty)
