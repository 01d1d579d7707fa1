"""From the runs of a table to one record: every row with its intervals, and paired comparisons."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import wassermix
from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.core.lazy import callable_package
from wassermix.engine.data_mark import data_changes
from wassermix.engine.rundir import RunDir
from wassermix.experiments.earlier import earlier_runs, with_earlier_summaries
from wassermix.experiments.measured import (
    ATTACK_WORDS,
    Measured,
    Values,
    flags,
    measured_run,
    radii,
    right,
    training_mark,
)
from wassermix.experiments.runner import run_folder
from wassermix.experiments.table import Table

__all__ = ["compare_runs", "gather", "paired_difference"]

Runs = dict[str, list[Measured]]
"""The runs of each row, by seed."""


def gather(table: Table, out: Path, *, name: str, earlier: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All that the finished runs of a table say; rows and seeds that are not finished are left out.

    ``earlier`` is the table's record of another time or another computer: what it holds of rows that are
    trained and judged in the same way still counts, where ``out`` has no run of the same seed.
    """
    runs = _found(table, out)
    _require_one_data(table, out, runs)
    asked = table.model_dump(mode="json")
    if earlier is not None:
        runs = _joined(runs, _still_alike(table, earlier_runs(asked, earlier)))
    controls = {row: table.control_of(row) for row in table.rows}
    compared = {"against_control": controls, "against_rows": table.against}
    record = {
        "table": name,
        "version": wassermix.__version__,
        **asked,
        "results": {row: _summary(found) for row, found in runs.items() if found},
        **{key: _compared(others, runs) for key, others in compared.items()},
        "tested": _tested(table, runs),
        "runs": {row: found for row, found in runs.items() if found},
    }
    return record if earlier is None else with_earlier_summaries(record, earlier, compared=compared)


def _require_one_data(table: Table, out: Path, runs: Runs) -> None:
    """Refuse to pair rows by image where their data file changed between two trainings."""
    first: dict[str, tuple[Path, Any]] = {}
    for row, run in ((row, run) for row, found in runs.items() for run in found):
        folder = run_folder(out, row, run["seed"])
        file = RunDir(folder).data_file
        if not file.exists():
            continue
        mark, named = read_json(file), str(table.config(row, run["seed"]).data)
        other, known = first.setdefault(named, (folder, mark))
        if changes := data_changes(known, mark):
            raise InputError(
                f"'{other}' and '{folder}' were trained on different data of one name "
                f"({'; '.join(changes)}): rows can only be compared on the same samples; delete the older "
                "one and run the table again"
            )


def _found(table: Table, out: Path) -> Runs:
    return {
        row: [run for seed in table.seeds_of(row) if (run := measured_run(table, out, row, seed))]
        for row in table.rows
    }


def _still_alike(table: Table, earlier: Runs) -> Runs:
    """Those earlier runs that have one of today's seeds, and whose recipe still means the same."""
    return {
        row: [run for run in found if run["seed"] in table.seeds_of(row) and _trained_so(table, row, run)]
        for row, found in earlier.items()
    }


def _trained_so(table: Table, row: str, run: Measured) -> bool:
    """Whether a run was trained as the table's row is today; runs of early records do not say."""
    return "training" not in run or run["training"] == training_mark(table, row, run["seed"])


def _joined(runs: Runs, earlier: Runs) -> Runs:
    """The runs of both; of a seed that both have, the new one."""
    return {
        row: sorted({run["seed"]: run for run in [*earlier.get(row, []), *found]}.values(), key=_seed)
        for row, found in runs.items()
    }


def _seed(run: Measured) -> int:
    return int(run["seed"])


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """A row over its seeds: means, and the spread between seeds where there is more than one."""
    row: dict[str, Any] = {"seeds": [run["seed"] for run in runs]}
    for key in ("updates", "passes", "minutes", "acr"):
        if runs[0].get(key) is not None:
            row[key] = statistics.fmean(run[key] for run in runs)
    if "acr" in row and len(runs) > 1:
        row["acr_seed_sd"] = statistics.stdev(run["acr"] for run in runs)
    if "variation" in runs[0]:
        row["total_variation"] = statistics.fmean(value for run in runs for value in run["variation"])
        row["curve"] = {
            key: np.mean([run["curve"][key] for run in runs], axis=0).tolist() for key in runs[0]["curve"]
        }
    if "certified" in runs[0]:
        row["certified"] = [
            _cell([run["certified"][i] for run in runs]) for i in range(len(runs[0]["certified"]))
        ]
        if reached := [run["reach"] for run in runs if run["reach"] is not None]:
            row["reach"] = min(reached)
    if all(run.get("p_a") for run in runs):
        row["p_a"] = [_sureness([run["p_a"][i] for run in runs]) for i in range(len(runs[0]["p_a"]))]
    if "attacks" in runs[0]:
        row["attacks"] = [
            _attack([run["attacks"][i] for run in runs]) for i in range(len(runs[0]["attacks"]))
        ]
    return row


def _cell(cells: list[dict[str, Any]]) -> dict[str, float]:
    """The mean over seeds; the interval is the mean of the seeds' intervals (their images are the same)."""
    return {
        key: statistics.fmean(cell[key] for cell in cells) for key in ("radius", "accuracy", "low", "high")
    }


def _sureness(cells: list[dict[str, Any]]) -> dict[str, float]:
    """The mean over seeds of the share of images with p_A of at least p, and of its band."""
    keys = ("p", "radius", "share", "low", "high")
    return {key: statistics.fmean(cell[key] for cell in cells) for key in keys}


def _attack(attacks: list[Measured]) -> dict[str, Any]:
    """The mean over seeds of the accuracy with and without the attack, and of their intervals."""
    words = {key: attacks[0].get(key) for key in ATTACK_WORDS}
    measures = [key for key in attacks[0] if key.endswith(("_accuracy", "_low", "_high"))]
    return {**words, **{key: statistics.fmean(attack[key] for attack in attacks) for key in measures}}


def _compared(others: dict[str, str], runs: Runs) -> dict[str, Any]:
    """Each row against its other on the same images, at the seeds that both have."""
    found = {}
    for row, other in others.items():
        compared = compare_runs(runs[row], runs[other]) if row != other else {}
        if compared.keys() > {"seeds"}:
            found[row] = compared
    return found


def compare_runs(first: Sequence[Measured], second: Sequence[Measured]) -> dict[str, Any]:
    """Every paired difference of two rows' runs, at the seeds that both have; empty where they share none.

    ``acr_difference`` is that of the mean radius: the average radius, or on a grid the mean of radii that
    were rounded down to it, which is none; two runs on different grids have no such difference.
    ``right_difference`` is that of the share that is right at all.
    """
    by_seed = {run["seed"]: run for run in second}
    pairs = [(run, by_seed[run["seed"]]) for run in first if run["seed"] in by_seed]
    return _comparison(pairs) if pairs else {}


def _tested(table: Table, runs: Runs) -> list[dict[str, Any]]:
    """The comparison behind every test of the table that has been measured; a pair of rows stands once."""
    pairs = dict.fromkeys((test.row, test.control) for test in table.tests)
    compared = {(row, other): _compared({row: other}, runs) for row, other in pairs}
    return [{"row": row, "control": other, **found[row]} for (row, other), found in compared.items() if found]


def _comparison(pairs: list[tuple[Measured, Measured]]) -> dict[str, Any]:
    found: dict[str, Any] = {"seeds": len(pairs)}
    if "radius" in pairs[0][0]:
        first, second = (np.array([radii(run) for run in side]) for side in zip(*pairs))
        reached = [run["reach"] for pair in pairs for run in pair if run["reach"] is not None]
        reach = min(reached, default=np.inf)
        cells = [cell["radius"] for cell in pairs[0][0]["certified"] if 0 < cell["radius"] <= reach]
        if all(_alike(*pair) for pair in pairs):
            found["acr_difference"] = paired_difference(first, second)
        sides = [[right(run) for run in side] for side in zip(*pairs)]
        if not any(flag is None for side in sides for flag in side):
            found["right_difference"] = paired_difference(
                *(np.array(side, dtype=np.float64) for side in sides)
            )
        found["at_radius"] = [
            {"radius": r, **paired_difference(_certified(first, r), _certified(second, r))} for r in cells
        ]
    if len(pairs[0][0].get("variation", [])) > 1:  # one pair of classes has no spread to judge by
        own, other = (np.array([run["variation"] for run in side]) for side in zip(*pairs))
        found["variation_difference"] = paired_difference(own, other)
    for which in range(len(pairs[0][0].get("attacks", []))):
        attacks = [[run["attacks"][which] for run in side] for side in zip(*pairs)]
        robust, clean = (
            paired_difference(*(np.array([flags(attack, key) for attack in side]) for side in attacks))
            for key in ("robust_correct", "clean_correct")
        )
        found.setdefault("attacked_difference", []).append(robust)
        found["clean_difference"] = clean
    return found


def _alike(first: Measured, second: Measured) -> bool:
    """Whether the mean radii of two runs are of one kind: averages, or rounded down to the same grid."""
    averages = [run.get("acr") is not None for run in (first, second)]
    if any(averages):
        return all(averages)
    grids = [[cell["radius"] for cell in run["certified"]] for run in (first, second)]
    return grids[0] == grids[1]


def _certified(proved: Values, radius: float) -> Values:
    return (proved >= radius).astype(np.float64)


def paired_difference(first: Values, second: Values) -> dict[str, float]:
    """Mean of ``first - second`` with its 95% interval; both are ``(seeds, images)``, or pairs of classes.

    Two things could have come out otherwise, and their variances add up: which images were drawn (their mean
    differences over seeds) and, with more than one seed, how training went (``seed_sd``, the spread of the
    mean difference over seeds); the quantile is Student's with Welch's degrees of ``freedom``, ``error`` the
    standard error. With one seed the interval speaks of these two networks only.
    """
    gaps = first - second
    parts = [_mean_variance(gaps.mean(axis=0))]
    if len(gaps) > 1:
        parts.append(_mean_variance(gaps.mean(axis=1)))
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / max(sum(part**2 / (count - 1) for part, count in parts), 1e-300)
    half = float(stats.t.ppf(0.975, max(freedom, 1.0)) * variance**0.5)
    mean = float(gaps.mean())
    found = {"mean": mean, "low": mean - half, "high": mean + half}
    found |= {"error": float(variance**0.5), "freedom": float(max(freedom, 1.0))}
    return found if len(gaps) == 1 else {**found, "seed_sd": float(gaps.mean(axis=1).std(ddof=1))}


def _mean_variance(values: Values) -> tuple[float, int]:
    """The estimated variance of the mean of ``values``, and how many there are."""
    return float(values.var(ddof=1) / len(values)), len(values)


callable_package(__name__, "gather")  # the package's name `gather` may be this module or the function
