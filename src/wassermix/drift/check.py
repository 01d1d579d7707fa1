"""The drift check: from a prepared reference and new samples to everything that can be said."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.intervals import holm
from wassermix.core.samples import Samples, evenly_spaced
from wassermix.core.settings import as_record
from wassermix.core.streams import stream_seed
from wassermix.drift.doubts import find_doubts
from wassermix.drift.estimators.plan import Block
from wassermix.drift.interval import Interval, interval_around, resampled
from wassermix.drift.labelled import FewLabels
from wassermix.drift.moved import what_moved
from wassermix.drift.pairs import Partners, partners_of
from wassermix.drift.powered import labels_only, powered_interval
from wassermix.drift.prepared import CONTROLS, WITNESSES, Chosen, Prepared
from wassermix.drift.result import ClassEstimate, DriftResult, Powered
from wassermix.drift.shift_test import ShiftTest, shift_tests
from wassermix.drift.views import Floats, Spaces, View
from wassermix.drift.way import performance_way, way_between

__all__ = ["FACTOR", "SHARE", "Checked", "check", "disagreement_of", "estimate_only", "used_rows"]

FACTOR, SHARE = 2.5, 0.5
"""The interval's width: see :func:`~wassermix.drift.interval.interval_around`."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A result with the pieces that pictures and questions to the user need."""

    result: DriftResult
    chances: Floats
    """The leading estimator's chance for every *used* new sample."""
    rows: Tensor
    """Which rows of the new data were used."""
    partners: Partners
    x: Tensor
    """The used new samples."""


def check(
    prepared: Prepared,
    new: Samples,
    *,
    labelled: FewLabels | None = None,
    truth: Tensor | None = None,
    columns: tuple[str, ...] = (),
    about: Mapping[str, Any] | None = None,
) -> Checked:
    """Estimate, test, explain; ``truth (N,)`` is only compared with the estimate."""
    began, settings, reference = time.perf_counter(), prepared.settings, prepared.reference
    if labelled is not None:
        labelled.check(len(new), reference.num_classes)
    chosen = _chosen(new, settings.samples, labelled)
    view, spaces = prepared.looker.look_twice(chosen)
    said, blocks = _said(prepared, view)
    estimate = _interval(prepared, said, view, blocks)
    estimates = {name: float(q.mean()) for name, q in said.items()}
    tests, x, partners = _tests(prepared, spaces), chosen.all(), partners_of(blocks, len(view))
    adjusted = holm([test.p_value for test in tests])
    result = DriftResult(
        parameters={**as_record(settings), **(about or {})},
        reference_accuracy=reference.accuracy,
        reference_count=len(reference),
        new_count=len(new),
        used_count=len(view),
        estimate=estimate,
        estimates=estimates,
        classes=_classes(prepared, view, said[prepared.settings.estimator], blocks),
        tests=tests,
        drifted=min(adjusted) <= settings.alpha,
        doubts=tuple(find_doubts(reference, view, blocks, estimates, own_cost=prepared.own_cost)),
        moved=what_moved(prepared.samples.all(), x, partners, names=columns, rows=chosen.rows),
        way=_way(prepared, x, partners),
        powered=None
        if labelled is None
        else _powered(prepared, view, said, chosen=chosen, labelled=labelled),
        truth=None if truth is None else _truth(view, truth[chosen.rows]),
        seconds=round(time.perf_counter() - began, 3),
        notes=_notes(len(new), len(view)),
    )
    return Checked(result, said[prepared.settings.estimator], chosen.rows, partners, x)


def estimate_only(prepared: Prepared, new: Samples) -> tuple[Interval, View, list[Block]]:
    """The estimate with its interval, without tests and explanations: what a monitor needs of a batch."""
    view = prepared.looker.look(_chosen(new, prepared.settings.samples, None))
    said, blocks = _said(prepared, view)
    return _interval(prepared, said, view, blocks), view, blocks


def used_rows(total: int, most: int, labelled: FewLabels | None) -> list[int]:
    """Which of ``total`` new samples a check looks at: ``most``, evenly spaced, and all labelled ones."""
    if total < 2:
        raise InputError(f"there are {total} new samples; expected at least 2, better some hundreds")
    marked = [] if labelled is None else [int(row) for row in labelled.index if 0 <= row < total]
    return sorted({*evenly_spaced(total, most), *marked})


def _chosen(new: Samples, most: int, labelled: FewLabels | None) -> Chosen:
    rows = used_rows(len(new), most, labelled)
    # what is labelled must be looked at, but may not tilt the mean over all
    spaced = set(evenly_spaced(len(new), most))
    return Chosen(new, rows, spaced=[row in spaced for row in rows])


def _said(prepared: Prepared, view: View) -> tuple[dict[str, Floats], list[Block]]:
    """What each estimator says about each sample; the leading plan is solved once."""
    blocks = prepared.plan.blocks(view)
    said = {
        name: prepared.plan.chances_from(blocks, view) if one is prepared.plan else one.chances(view)
        for name, one in prepared.estimators.items()
    }
    return said, blocks


def _interval(prepared: Prepared, said: Mapping[str, Floats], view: View, blocks: list[Block]) -> Interval:
    settings, lead = prepared.settings, float(said[prepared.settings.estimator].mean())
    rng = _rng(settings.seed, "resample")
    replicates = resampled(prepared.plan, blocks, view, count=settings.resamples, rng=rng)
    apart = disagreement_of({name: float(q.mean()) for name, q in said.items()}, settings.estimator)
    return interval_around(lead, replicates, apart, factor=FACTOR, share=SHARE)


def disagreement_of(estimates: Mapping[str, float], lead: str) -> float:
    """The mean distance of COT, the balanced plan and the nearest neighbour from the leading estimate.

    An estimator that leads is no witness of its own.
    """
    others = [estimates[name] for name in WITNESSES if name in estimates and name != lead]
    return float(np.mean([abs(other - estimates[lead]) for other in others])) if others else 0.0


def _tests(prepared: Prepared, new: Spaces) -> tuple[ShiftTest, ...]:
    assert prepared.looker.held is not None
    settings = prepared.settings
    return shift_tests(
        prepared.looker.held, new, permutations=settings.permutations,
        rngs=lambda space: _rng(settings.seed, "test", space),
    )  # fmt: skip


def _classes(
    prepared: Prepared, view: View, chances: Floats, blocks: list[Block]
) -> tuple[ClassEstimate, ...]:
    reference, growth = prepared.reference, np.mean([block.growth for block in blocks], axis=0)
    right, found = reference.view.predicted == reference.labels, []
    for label in range(reference.num_classes):
        here, before = view.predicted == label, reference.view.predicted == label
        found.append(
            ClassEstimate(
                label=label,
                decided=int(here.sum()),
                accuracy=float(chances[here].mean()) if here.any() else None,
                reference_accuracy=float(right[before].mean()) if before.any() else None,
                growth=float(growth[label]),
            )
        )
    return tuple(found)


def _way(prepared: Prepared, x: Tensor, partners: Partners) -> Any:
    points = prepared.settings.points
    if points < 2:
        return None
    reference = prepared.reference
    labels = torch.from_numpy(reference.labels)
    path = way_between(prepared.samples.all(), labels, x, partners, k=reference.num_classes)
    return performance_way(prepared.looker.model, path, points=points)


def _powered(
    prepared: Prepared, view: View, said: Mapping[str, Floats], *, chosen: Chosen, labelled: FewLabels
) -> Powered:
    place = {int(row): number for number, row in enumerate(chosen.rows.tolist())}
    index = np.array([place[int(row)] for row in labelled.index])
    correct = (view.predicted[index] == labelled.labels).astype(np.float64)
    controls = np.column_stack([said[name] for name in CONTROLS])
    settings = prepared.settings
    interval = powered_interval(
        correct, index, controls, weights=labelled.weights, confidence=settings.confidence,
        counted=np.flatnonzero(chosen.spaced), rng=_rng(settings.seed, "folds"),
    )  # fmt: skip
    alone = labels_only(correct, weights=labelled.weights, confidence=settings.confidence)
    return Powered(len(index), interval, alone)


def _truth(view: View, labels: Tensor) -> float:
    return float((torch.from_numpy(view.predicted) == labels).float().mean())


def _notes(total: int, used: int) -> tuple[str, ...]:
    if used == total:
        return ()
    return (f"{used} of {total} new samples were used, evenly spaced; --samples takes more",)


def _rng(seed: int, *purpose: str) -> np.random.Generator:
    return np.random.default_rng(stream_seed(seed, "drift", *purpose))
