"""Which estimator suits this model? Its labelled reference, shifted on purpose, tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from torch import Tensor

from wassermix.core.samples import Samples, TensorSamples
from wassermix.core.streams import stream
from wassermix.drift.estimators.registry import make_estimator
from wassermix.drift.reference import Reference
from wassermix.drift.shifts import IMAGE_SHIFTS, TABLE_SHIFTS, Change
from wassermix.drift.views import Ints, Looker

__all__ = ["CANDIDATES", "REHEARSED", "Rehearsal", "rehearse"]

REHEARSED = "rehearsed"
"""The name that stands for "whichever the rehearsal chooses"."""
CANDIDATES = ("joint", "joint-feature")
"""What a rehearsal chooses from; the first one wins unless another is clearly better."""
KINDS = (
    "gaussian-noise", "impulse-noise", "glass-blur", "zoom-blur", "frost", "brightness", "elastic", "jpeg",
    "scale", "gain", "dropout",
)  # fmt: skip
"""The shifts that are tried: those on which the survey settles its settings, and no others."""
STRENGTHS = (1, 2, 3)
MOST = 400
"""At most so many samples on either side of a rehearsed shift."""
CLEARLY = 1.0
"""Standard errors, over the rehearsed shifts, by which another candidate must beat the first."""


@dataclass(frozen=True)
class Rehearsal:
    """What each candidate erred by, in accuracy (0.05 is five points), under each rehearsed shift."""

    errors: Mapping[str, Sequence[float]]

    @property
    def chosen(self) -> str:
        """The candidate of the least mean error, if it beats the first by more than a standard error."""
        first, *others = self.errors
        if not self.errors[first]:
            return first
        better = [name for name in others if self._clearly_better(name, first)]
        return min([first, *better], key=lambda name: float(np.mean(self.errors[name])))

    def words(self) -> str:
        """What was chosen and why, in a sentence."""
        points = ", ".join(f"{name} {100 * float(np.mean(e)):.1f}" for name, e in self.errors.items() if e)
        if not points:
            return f"estimator {self.chosen}: there is no rehearsal for samples of this shape"
        shifts = len(self.errors[self.chosen])
        return (
            f"estimator {self.chosen}: chosen by rehearsal, {shifts} known shifts of the reference "
            f"(mean error in points: {points})"
        )

    def _clearly_better(self, name: str, than: str) -> bool:
        gain = np.subtract(self.errors[than], self.errors[name])
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        return float(gain.mean()) > CLEARLY * float(error)


def rehearse(looker: Looker, samples: Samples, reference: Reference, *, seed: int = 0) -> Rehearsal:
    """Shift one half of the reference in known ways and let each candidate guess the accuracy from the other.

    Samples ``(n, C, H, W)`` get blur, noise and the like, rows of a table gains and lost columns; samples of
    other shapes get none, and the first candidate is taken.
    """
    known, moved = (_spaced(half) for half in reference.halves)
    half = reference.rows(known)
    fitted = {name: make_estimator(name).fit(half) for name in CANDIDATES}
    x, labels = samples.get(torch.from_numpy(moved)), reference.labels[moved]
    errors: dict[str, list[float]] = {name: [] for name in CANDIDATES}
    for (kind, change), strength in product(_shifts(x).items(), STRENGTHS):
        shifted = change(x, strength, stream(seed, "drift", "rehearsal", kind, strength))
        view = looker.look(TensorSamples(shifted, torch.from_numpy(labels)))
        truth = float(np.mean(view.predicted == labels))
        for name, one in fitted.items():
            errors[name].append(abs(float(one.chances(view).mean()) - truth))
    return Rehearsal(errors)


def _shifts(x: Tensor) -> dict[str, Change]:
    known = IMAGE_SHIFTS if x.dim() == 4 else TABLE_SHIFTS if x.dim() == 2 else {}
    return {kind: change for kind, change in known.items() if kind in KINDS}


def _spaced(rows: Ints) -> Ints:
    return rows if len(rows) <= MOST else rows[np.arange(MOST) * len(rows) // MOST]
