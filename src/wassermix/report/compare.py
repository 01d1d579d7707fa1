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

__all__ = [
    "Comparison",
    "attack_groups",
    "cautions",
    "certified_groups",
    "comparisons",
    "crossings",
    "group_name",
    "one_each",
]

Protocol = tuple[tuple[str, Any], ...]
E = TypeVar("E", Attacked, CertifiedSet)
CLEAN, CLEAN_SMOOTHED = "clean accuracy", "clean accuracy of the smoothed classifier"
SIGMA = "sigma"
"""The word at the end of the protocol of a group that was split."""
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
    """Certifications by protocol (mode, n0, n, alpha): numbers compare within a group, never across.

    Runs of different sigma stand side by side, each at its own; where one run was certified at several, the
    group is split by sigma, which then stands at the end of its protocol.
    """
    groups = _grouped((run, item) for run in runs for item in run.certified)
    return {key: part for protocol, group in groups.items() for key, part in _by_sigma(protocol, group)}


def attack_groups(runs: Sequence[RunRecord]) -> dict[Protocol, list[tuple[RunRecord, Attacked]]]:
    """Attacks by all of their parameters."""
    return _grouped((run, item) for run in runs for item in run.attacked)


def comparisons(runs: Sequence[RunRecord]) -> list[Comparison]:
    """Every paired test that the runs' per-image rows allow, with Holm's correction over all of them."""
    found: dict[tuple[str, str, str, str], Comparison] = {}
    for test in _tests(runs):  # clean accuracy comes with every attack; the first is what tables show
        found.setdefault((test.measure, test.protocol, test.first, test.second), test)
    adjusted = holm([test.result.p_value for test in found.values()])
    return [replace(test, adjusted=p) for test, p in zip(found.values(), adjusted)]


def cautions(runs: Sequence[RunRecord]) -> list[str]:
    """Differences between runs that a reader must know before comparing their numbers."""
    found = []
    for what, values in (
        ("data", {run.data for run in runs if run.data}),
        ("model", {_model(run) for run in runs if run.config.get("model")}),
    ):
        if len(values) > 1:
            found.append(
                f"These runs differ in their {what} ({', '.join(sorted(values))}): compare with care."
            )
    return [*found, *_lengths(runs)]


def _lengths(runs: Sequence[RunRecord]) -> list[str]:
    """That runs differ in their number of updates, and whether they cost as many passes."""
    trained = [run for run in runs if run.updates is not None]
    updates = sorted({str(run.updates) for run in trained})
    if len(updates) < 2:
        return []
    passes = [float(run.passes) for run in trained if run.passes]
    if len(passes) == len(trained) and max(passes) <= (1 + ROUNDING) * min(passes):
        return [
            f"These runs cost as many passes and made different numbers of updates ({', '.join(updates)}): a "
            "method that looks more often at each sample makes fewer."
        ]
    return [f"These runs differ in their number of updates ({', '.join(updates)}): compare with care."]


ROUNDING = 0.01
"""A budget ends with a whole update: passes are the same within so much."""


def crossings(group: list[tuple[RunRecord, CertifiedSet]]) -> list[str]:
    """A sentence for each two runs of which one leads in mean radius, the other in images at some p_A."""
    found = [_crossing(first, second) for first, second in _duels(group)]
    return [sentence for sentence in found if sentence is not None]


def one_each(group: Sequence[tuple[RunRecord, E]]) -> dict[str, tuple[RunRecord, E]]:
    """The result that stands for each run in a group, by the run's name: its first."""
    found: dict[str, tuple[RunRecord, E]] = {}
    for run, item in group:
        found.setdefault(run.name, (run, item))
    return found


def group_name(protocol: Protocol, group: Sequence[tuple[RunRecord, CertifiedSet]]) -> str:
    """A group of :func:`certified_groups` in a few words; its sigma too, where groups differ by that."""
    words = protocol_name(group[0][1])
    sigma = dict(protocol).get(SIGMA)
    return words if sigma is None else f"{words}, sigma {sigma:g}"


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


def _by_sigma(
    protocol: Protocol, group: list[tuple[RunRecord, CertifiedSet]]
) -> Iterator[tuple[Protocol, list[tuple[RunRecord, CertifiedSet]]]]:
    """The group as it is, or split by sigma where one of its runs has results at several."""
    parts: dict[float | None, list[tuple[RunRecord, CertifiedSet]]] = {}
    for run, item in group:
        parts.setdefault(_sigma(item), []).append((run, item))
    if sum(len(one_each(part)) for part in parts.values()) == len(one_each(group)):
        yield protocol, group
    else:
        yield from (((*protocol, (SIGMA, sigma)), part) for sigma, part in parts.items())


def _sigma(item: CertifiedSet) -> float | None:
    return None if item.result.settings is None else item.result.settings.sigma


def _tests(runs: Sequence[RunRecord]) -> Iterator[Comparison]:
    for attacks in attack_groups(runs).values():
        for (first, a), (second, b) in _duels(attacks):
            yield from _attack_tests((first, a), (second, b))
    for protocol, certified in certified_groups(runs).items():
        for (first, c), (second, d) in _duels(certified):
            yield from _certified_tests((first, c), (second, d), group_name(protocol, certified))


def _duels(group: list[tuple[RunRecord, E]]) -> Iterator[tuple[tuple[RunRecord, E], tuple[RunRecord, E]]]:
    """Runs two by two, each with the one result that tables show of it."""
    items = list(one_each(group).values())
    everyone = len(items) <= ALL_PAIRS_UP_TO
    duels = combinations(items, 2) if everyone else ((items[0], other) for other in items[1:])
    for (first, a), (second, b) in duels:
        if first.data == second.data or None in (first.data, second.data):
            yield (first, a), (second, b)


def _attack_tests(
    first: tuple[RunRecord, Attacked], second: tuple[RunRecord, Attacked]
) -> Iterator[Comparison]:
    (run_a, a), (run_b, b) = first, second
    shared = _shared(a.index, b.index, a.label, b.label)
    measures = (CLEAN_SMOOTHED if a.smoothed else CLEAN, f"accuracy under {a.title}")
    for measure, ours, theirs in zip(measures, a.flags(), b.flags()):
        if shared is not None:
            result = compare_paired(ours[shared[0]], theirs[shared[1]])
            yield Comparison(measure, "", run_a.name, run_b.name, result)


def _certified_tests(
    first: tuple[RunRecord, CertifiedSet], second: tuple[RunRecord, CertifiedSet], protocol: str
) -> Iterator[Comparison]:
    (run_a, a), (run_b, b) = first, second
    shared = _shared(a.index, b.index, a.label, b.label)
    for radius in a.table:
        if shared is not None and radius in b.table:
            result = compare_paired(a.certified(radius)[shared[0]], b.certified(radius)[shared[1]])
            measure = f"certified at radius {radius:g}"
            yield Comparison(measure, protocol, run_a.name, run_b.name, result)


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
    sigma = _sigma(a) if _sigma(a) == _sigma(b) else None
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
