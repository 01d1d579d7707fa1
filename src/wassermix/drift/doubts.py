"""When an estimate should not be believed: what it says of itself, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wassermix.drift.estimators.plan import Block
from wassermix.drift.reference import Reference
from wassermix.drift.views import Floats, View

__all__ = ["find_doubts"]

FAR = 3.0
"""A plan that costs so many times the reference's own is far from anything known."""
APART = 0.1
"""Estimators that differ by so much disagree."""
GROWN = 2.0
"""A class whose share has changed by so much points to label shift."""
FEW = 30


def find_doubts(
    reference: Reference,
    new: View,
    blocks: list[Block],
    estimates: Mapping[str, float],
    *,
    own_cost: float,
) -> list[str]:
    """Sentences about what makes this estimate doubtful; none where nothing does."""
    found = [*_apart(estimates), *_far(blocks, own_cost), *_classes(reference, new, blocks)]
    if len(new) < FEW:
        found.append(f"only {len(new)} new samples: their own accuracy is a matter of luck; gather more")
    return found


def _apart(estimates: Mapping[str, float]) -> list[str]:
    known = {key: value for key, value in estimates.items() if key not in ("random", "source")}
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    if known[high] - known[low] < APART:
        return []
    return [
        f"the estimators disagree: {low} says {known[low]:.1%}, {high} {known[high]:.1%}; label a few "
        "samples (--ask 100) to be sure"
    ]


def _far(blocks: list[Block], own_cost: float) -> list[str]:
    ratio = float(np.mean([block.cost for block in blocks])) / max(own_cost, 1e-12)
    if ratio < FAR:
        return []
    return [f"the new data are far away: the plan costs {ratio:.1f} times what it costs within the reference"]


def _classes(reference: Reference, new: View, blocks: list[Block]) -> list[str]:
    found = []
    share = np.bincount(reference.labels, minlength=reference.num_classes) / len(reference)
    decided = np.bincount(new.predicted, minlength=reference.num_classes) / len(new)
    growth: Floats = np.mean([block.growth for block in blocks], axis=0)
    changed = [c for c in np.flatnonzero(share) if not 1 / GROWN <= growth[c] <= GROWN]
    if changed:
        words = ", ".join(f"{c} by {growth[c]:.2g}" for c in changed[:5])
        found.append(f"suspected label shift: by the plan the shares of classes changed ({words})")
    gone = [int(c) for c in np.flatnonzero(share) if decided[c] == 0 and share[c] * len(new) >= 5]
    if gone:
        found.append(f"the model no longer decides for {_named(gone)}, which the reference has")
    unknown = [c for c in range(reference.num_classes) if share[c] == 0 and decided[c] > 0]
    if unknown:
        found.append(f"the model decides for {_named(unknown)}, of which the reference has no sample")
    return found


def _named(classes: list[int]) -> str:
    return f"class{'es' if len(classes) > 1 else ''} {', '.join(map(str, classes[:8]))}"
