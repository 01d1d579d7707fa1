"""Which results may stand side by side: groups of equal protocol, and paired tests on the same images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wassermix.certify import crossing
from wassermix.core.intervals import PairedComparison, compare_paired, holm
from wassermix.report.records import Attacked, CertifiedSet, RunRecord

__all__ = ["Comparison", "attack_groups", "cautions", "certified_groups", "comparisons", "crossings"]

Protocol = tuple[tuple[str, Any], ...]
E = TypeVar("E", Attacked, CertifiedSet)
ATTACK_WORDS = {
    "pgd": "PGD",
    "fgsm": "FGSM",
    "autoattack": "AutoAttack",
    "smoothed": "smoothed PGD",
    "geodesic": "the geodesic attack",
}
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
    """A sentence for each two runs of which one leads in average radius, the other in images kept at all."""
    found = []
    for (first, a), (second, b) in _duels(group):
        if a.acr is None or b.acr is None or a.rows is None or b.rows is None:
            continue
        shared = _shared(a.rows.index, b.rows.index, a.rows.label, b.rows.label)
        if shared is not None:
            flags = (a.rows.certified(0.0)[shared[0]], b.rows.certified(0.0)[shared[1]])
            found.append(crossing((first.name, second.name), (a.acr, b.acr), flags, p=0.5))
    return [sentence for sentence in found if sentence is not None]


def attack_name(attack: Attacked) -> str:
    """An attack with its norm, radius, steps and restarts in a few words."""
    get = attack.parameters.get
    kind = str(get("attack") or attack.name)
    parts = [ATTACK_WORDS.get(kind, kind), {"linf": "ℓ∞", "l2": "ℓ2"}.get(str(get("norm")), "")]
    if get("eps") is not None:
        parts.append(f"ε={_eps(get('eps'))}")
    if get("t_max") is not None:
        parts.append(f"t ≤ {float(get('t_max') or 0):g}")
    if get("steps") is not None:
        parts.append("1 step" if get("steps") == 1 else f"{get('steps')} steps")
    if (get("restarts") or 1) != 1:
        parts.append(f"{get('restarts')} restarts")
    return " ".join(part for part in parts if part)


def protocol_name(item: CertifiedSet) -> str:
    """A certification's mode, draws and level in a few words."""
    get = item.parameters.get
    if get("mode") is None:
        return "log without parameters"
    draws = [f"{key} {get(key):,}" for key in ("n0", "n") if isinstance(get(key), int)]
    level = [f"alpha {get('alpha'):g}"] if isinstance(get("alpha"), float) else []
    width = [f"tolerance {get('tolerance'):g}"] if get("mode") == "tolerance" else []
    return ", ".join([f"{get('mode')} mode", *draws, *level, *width])


def _eps(eps: Any) -> str:
    value = float(eps) if isinstance(eps, int | float) else None
    if value is None:
        return str(eps)
    steps = value * 255
    whole = abs(steps - round(steps)) < 1e-6 and 0 < round(steps) < 64
    return f"{round(steps)}/255" if whole else f"{value:g}"


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
    if a.index is None or b.index is None or a.label is None or b.label is None:
        return
    shared = _shared(a.index, b.index, a.label, b.label)
    clean = "clean accuracy of the smoothed classifier" if a.smoothed else "clean accuracy"
    flags = (
        (clean, a.clean_correct, b.clean_correct),
        (f"accuracy under {attack_name(a)}", a.robust_correct, b.robust_correct),
    )
    for measure, ours, theirs in flags:
        if shared is not None and ours is not None and theirs is not None:
            result = compare_paired(ours[shared[0]], theirs[shared[1]])
            yield Comparison(measure, "", run_a.name, run_b.name, result)


def _certified_tests(
    first: tuple[RunRecord, CertifiedSet], second: tuple[RunRecord, CertifiedSet]
) -> Iterator[Comparison]:
    (run_a, a), (run_b, b) = first, second
    if a.rows is None or b.rows is None:
        return
    shared = _shared(a.rows.index, b.rows.index, a.rows.label, b.rows.label)
    for radius in a.table:
        if shared is not None and radius in b.table:
            result = compare_paired(a.rows.certified(radius)[shared[0]], b.rows.certified(radius)[shared[1]])
            measure = f"certified at radius {radius:g}"
            yield Comparison(measure, protocol_name(a), run_a.name, run_b.name, result)


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
