"""How sure an estimate without labels is: resampling of both sets, and the estimators' disagreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wassermix.drift.estimators.plan import Block, CarriedLabels
from wassermix.drift.views import Floats, View

__all__ = ["Interval", "interval_around", "resampled"]

FLOOR = 0.005
"""Half a point: no estimate without labels is surer than that."""


@dataclass(frozen=True)
class Interval:
    """An estimated accuracy with its limits, all in [0, 1]."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the limits."""
        return (self.high - self.low) / 2


def resampled(
    estimator: CarriedLabels, blocks: list[Block], new: View, *, count: int, rng: np.random.Generator
) -> Floats:
    """``count`` estimates from resampled reference and new samples, the plans held fixed.

    A reference sample drawn ``w_i`` times counts so often in every share ``sum_i w_i P_ij [...] / sum_i w_i
    P_ij``; a new sample drawn ``v_j`` times in the mean. The model's accuracy on the resampled reference
    moves the correction.
    """
    reference = estimator.reference
    right = (reference.view.predicted == reference.labels).astype(np.float64)
    factor = estimator.correction(len(blocks[0].rows)) / max(reference.accuracy, 1e-12)
    estimates = np.zeros(count)
    for number in range(count):
        drawn = np.bincount(rng.integers(len(reference), size=len(reference)), minlength=len(reference))
        often = np.bincount(rng.integers(len(new), size=len(new)), minlength=len(new))
        mean = _agreement(estimator, blocks, new, drawn.astype(float), often=often.astype(float))
        scaled = factor * float((drawn * right).mean()) if estimator.corrected else 1.0
        estimates[number] = min(1.0, scaled * mean)
    return estimates


def _agreement(
    estimator: CarriedLabels, blocks: list[Block], new: View, drawn: Floats, *, often: Floats
) -> float:
    total, mass = 0.0, 0.0
    for block in blocks:
        agrees = estimator.reference.labels[block.fold][:, None] == new.predicted[block.rows]
        weights = drawn[block.fold]
        below = weights @ block.plan
        share = np.divide(weights @ (block.plan * agrees), below, out=np.zeros_like(below), where=below > 0)
        total += float(often[block.rows] @ share)
        mass += float(often[block.rows].sum())
    return total / max(mass, 1e-12)


def interval_around(
    estimate: float, replicates: Floats, disagreement: float, *, factor: float, share: float
) -> Interval:
    """``estimate +- factor * sqrt(sd^2 + (share * disagreement)^2 + floor^2)``, cut to [0, 1].

    ``sd`` is the spread of the resampled estimates; ``disagreement`` the mean distance of other estimators.
    Resampling cannot see an error that the plan makes on every draw; where estimators part, such an error is
    likely. ``factor`` and ``share`` were settled on half of the kinds of shift of the survey.
    """
    scale = float(np.sqrt(np.var(replicates) + (share * disagreement) ** 2 + FLOOR**2))
    return Interval(estimate, max(0.0, estimate - factor * scale), min(1.0, estimate + factor * scale))
