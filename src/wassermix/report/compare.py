"""Which results may stand side by side: groups of equal protocol, and paired tests on the same images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wassermix.certify import Standing, crossing
from wassermix.certify.crossings import AVERAGE, ON_GRID, each_of, level_words, standing
from wassermix.core.intervals import PairedComparison, compare_paired, holm
from wassermix.report.records import Attacked, CertifiedSet, RunRecord

__all__ = ["Comparison", "attack_groups", "cautions", "certified_groups", "comparisons", "crossings"]

Protocol = tuple[tuple[str, Any], ...]
E = TypeVar("E", Attacked, CertifiedSet)
ALL_PAIRS_UP_TO = 3
"""With more runs than this, each is compared with the first only: all pairs would drown the reader."""


@dataclass(frozen=True)
class Comparison:
    """One paired test between two runs; ``adjusted`` is Holm's p over all tests of the page."""

    measure: str
    protocol: str
    first: str
    second: str
    result: PairedComparison
    adjusted: float = 1.0

    @property
    def gain(self) -> float:
        """Share of the second run minus share of the first."""
        return 0.0 - self.result.difference

    @property
    def images(self) -> int:
        """How many images both runs saw."""
        return self.result.both + self.result.first_only + self.result.second_only + self.result.neither


def certified_groups(runs: Sequence[RunRecord]) -> dict[Protocol, list[tuple[RunRecord, CertifiedSet]]]:
    """Certifications by protocol (mode, n0, n, alpha): numbers compare within a group, never across."""
    return _grouped((run, item) for run in runs for item in run.certified)


def attack_groups(runs: Sequence[RunRecord]) -> dict[Protocol, list[tuple[RunRecord, Attacked]]]:
    """Attacks by all of their parameters."""
    return _grouped((run, item) for run in runs for item in run.attacked)


def comparisons(runs: Sequence[RunRecord]) -> list[Comparison]:
    """Every paired test that the runs' per-image rows allow, with Holm's correction over all of them."""
    tests = list(
        {(test.measure, test.protocol, test.first, test.second): test for test in _tests(runs)}.values()
    )
    adjusted = holm([test.result.p_value for test in tests])
    return [replace(test, adjusted=p) for test, p in zip(tests, adjusted)]


def cautions(runs: Sequence[RunRecord]) -> list[str]:
    """Differences between runs that a reader must know before comparing their numbers."""
    found = []
    for what, values in (
        ("data", {run.data for run in runs if run.data}),
        ("number of updates", {str(run.updates) for run in runs if run.updates is not None}),
        ("model", {_model(run) for run in runs if run.config.get("model")}),
    ):
        if len(values) > 1:
            found.append(
                f"These runs differ in their {what} ({', '.join(sorted(values))}): compare with care."
            )
    return found


def crossings(group: list[tuple[RunRecord, CertifiedSet]]) -> list[str]:
    """A sentence for each two runs of which one leads in mean radius, the other in images at some p_A."""
    found = [_crossing(first, second) for first, second in _duels(group)]
    return [sentence for sentence in found if sentence is not None]


def protocol_name(item: CertifiedSet) -> str:
    """A certification's mode, draws and level in a few words."""
    get = item.parameters.get
    if get("mode") is None:
        return "log without parameters"
    draws = [f"{key} {get(key):,}" for key in ("n0", "n") if isinstance(get(key), int)]
    level = [f"alpha {get('alpha'):g}"] if isinstance(get("alpha"), float) else []
    width = [f"tolerance {get('tolerance'):g}"] if get("mode") == "tolerance" else []
    words = {"bound": "bound", "sampler": "noise"}  # files of earlier versions name neither
    kinds = [f"{get(key)} {word}" for key, word in words.items() if isinstance(get(key), str)]
    return ", ".join([f"{get('mode')} mode", *draws, *level, *width, *kinds])


def _model(run: RunRecord) -> str:
    model = run.config["model"]
    return str(model.get("name")) if isinstance(model, dict) else str(model)


def _grouped(items: Iterator[tuple[RunRecord, E]]) -> dict[Protocol, list[tuple[RunRecord, E]]]:
    groups: dict[Protocol, list[tuple[RunRecord, E]]] = {}
    for run, item in items:
        groups.setdefault(item.protocol, []).append((run, item))
    return groups


def _tests(runs: Sequence[RunRecord]) -> Iterator[Comparison]:
    for attacks in attack_groups(runs).values():
        for (first, a), (second, b) in _duels(attacks):
            yield from _attack_tests((first, a), (second, b))
    for certified in certified_groups(runs).values():
        for (first, c), (second, d) in _duels(certified):
            yield from _certified_tests((first, c), (second, d))


def _duels(items: list[tuple[RunRecord, E]]) -> Iterator[tuple[tuple[RunRecord, E], tuple[RunRecord, E]]]:
    everyone = len(items) <= ALL_PAIRS_UP_TO
    duels = combinations(items, 2) if everyone else ((items[0], other) for other in items[1:])
    for (first, a), (second, b) in duels:
        if first is not second and (first.data == second.data or None in (first.data, second.data)):
            yield (first, a), (second, b)


def _attack_tests(
    first: tuple[RunRecord, Attacked], second: tuple[RunRecord, Attacked]
) -> Iterator[Comparison]:
    (run_a, a), (run_b, b) = first, second
    shared = _shared(a.index, b.index, a.label, b.label)
    clean = "clean accuracy of the smoothed classifier" if a.smoothed else "clean accuracy"
    measures = (clean, f"accuracy under {a.title}")
    for measure, ours, theirs in zip(measures, a.flags(), b.flags()):
        if shared is not None:
            result = compare_paired(ours[shared[0]], theirs[shared[1]])
            yield Comparison(measure, "", run_a.name, run_b.name, result)


def _certified_tests(
    first: tuple[RunRecord, CertifiedSet], second: tuple[RunRecord, CertifiedSet]
) -> Iterator[Comparison]:
    (run_a, a), (run_b, b) = first, second
    shared = _shared(a.index, b.index, a.label, b.label)
    for radius in a.table:
        if shared is not None and radius in b.table:
            result = compare_paired(a.certified(radius)[shared[0]], b.certified(radius)[shared[1]])
            measure = f"certified at radius {radius:g}"
            yield Comparison(measure, protocol_name(a), run_a.name, run_b.name, result)


def _crossing(first: tuple[RunRecord, CertifiedSet], second: tuple[RunRecord, CertifiedSet]) -> str | None:
    """Two runs on the images that both saw; none where their radii are means of different kinds."""
    (run_a, a), (run_b, b) = first, second
    shared = _shared(a.index, b.index, a.label, b.label)
    on_grid = a.acr is None
    comparable = (b.acr is None) == on_grid and (not on_grid or a.radii == b.radii)
    if shared is None or not comparable:
        return None
    sides = ((a, shared[0]), (b, shared[1]))
    means = tuple(float(np.mean((one.radius * one.certified(0.0))[seen])) for one, seen in sides)
    levels = _standings(*sides)
    measure = ON_GRID if on_grid else AVERAGE
    return crossing((run_a.name, run_b.name), (means[0], means[1]), levels, measure=measure)


Side = tuple[CertifiedSet, NDArray[np.int64]]
"""A certification, and the positions of some of its images."""


def _standings(first: Side, second: Side) -> list[Standing]:
    """Two certifications at every radius that both tell, from the smallest."""
    (a, in_a), (b, in_b) = first, second
    sigmas = [item.result.settings.sigma for item in (a, b) if item.result.settings is not None]
    sigma = sigmas[0] if len(sigmas) == 2 and sigmas[0] == sigmas[1] else None
    radii = sorted(set(a.table) & set(b.table))
    return [
        standing(
            level_words(radius, sigma),
            a.certified(radius)[in_a],
            b.certified(radius)[in_b],
            confidence=each_of(len(radii)),
        )
        for radius in radii
    ]


def _shared(
    index_a: NDArray[np.int64],
    index_b: NDArray[np.int64],
    label_a: NDArray[np.int64],
    label_b: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Positions of the images that both saw; None where there are none or their labels disagree."""
    both, in_a, in_b = np.intersect1d(index_a, index_b, return_indices=True)
    if not len(both) or (label_a[in_a] != label_b[in_b]).any():
        return None
    return in_a, in_b
