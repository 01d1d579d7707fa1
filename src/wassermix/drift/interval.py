"""How sure an estimate without labels is: resampling of both sets, and the estimators' disagreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wassermix.drift.estimators.plan import Block, CarriedLabels
from wassermix.drift.views import Floats, Ints, View

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
    drawn = _counts(len(reference), count, rng)
    often = _counts(len(new), count, rng)
    total, mass = np.zeros(count), np.zeros(count)
    for block in blocks:
        share = _resampled_shares(block, reference.labels[block.fold], new.predicted[block.rows], drawn)
        total += (often[:, block.rows] * share).sum(axis=1)
        mass += often[:, block.rows].sum(axis=1)
    right = (reference.view.predicted == reference.labels).astype(np.float64)
    factor = estimator.correction(len(blocks[0].rows)) / max(reference.accuracy, 1e-12)
    scaled = factor * (drawn @ right) / len(reference) if estimator.corrected else 1.0
    return np.minimum(1.0, scaled * total / np.maximum(mass, 1e-12))


def _counts(size: int, count: int, rng: np.random.Generator) -> Floats:
    """How often each of ``size`` samples is drawn, in ``count`` resamples: ``(count, size)``."""
    drawn = rng.integers(size, size=(count, size))
    return np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(np.float64)


def _resampled_shares(block: Block, labels: Ints, predicted: Ints, drawn: Floats) -> Floats:
    """The share of agreeing mass of each new sample under each resampled reference, ``(count, m)``."""
    weights = drawn[:, block.fold]
    below = weights @ block.plan
    above = weights @ (block.plan * (labels[:, None] == predicted))
    share: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return share


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
