"""From the run directories of a table to one record: every row with its intervals, and paired comparisons."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import wassermix
from wassermix.attacks import AttackResult, make_attack
from wassermix.audit import PerformanceGeodesic
from wassermix.audit.result import PairCurve
from wassermix.certify import Certificates
from wassermix.core.lazy import callable_package
from wassermix.engine.run import Run
from wassermix.experiments.runner import audit_name, run_folder
from wassermix.experiments.table import Table

__all__ = ["gather", "paired_difference"]

Values = NDArray[np.float64]


def gather(table: Table, out: Path, *, name: str) -> dict[str, Any]:
    """All that the finished runs of a table say; rows and seeds that are not finished are left out."""
    runs = {
        row: [found for seed in table.seeds_of(row) if (found := _run(table, out, row, seed))]
        for row in table.rows
    }
    return {
        "table": name,
        "version": wassermix.__version__,
        **table.model_dump(mode="json"),
        "results": {row: _summary(found) for row, found in runs.items() if found},
        "against_control": _compared({row: table.control_of(row) for row in table.rows}, runs),
        "against_rows": _compared(table.against, runs),
        "tested": _tested(table, runs),
    }


def _run(table: Table, out: Path, row: str, seed: int) -> dict[str, Any] | None:
    """One finished run, or None; only the files that the table's own plan names are read."""
    folder = run_folder(out, row, seed)
    config, log = table.config(row, seed), None
    labels = [make_attack(settings).label for settings in table.attack_settings(config)]
    attacks = [folder / "attack" / f"{label}.json" for label in labels]
    if table.certify is not None:
        log = folder / "certify" / f"{table.certify.settings(config.sigma).name}.tsv"
    asked = table.audit_settings(config)
    audit = None if asked is None else folder / "audit" / f"{audit_name(asked)}.json"
    needed = [*attacks, *([log.with_suffix(".json")] if log else []), *([audit] if audit else [])]
    if not all(path.exists() for path in needed):
        return None
    found: dict[str, Any] = {"seed": seed, **_cost(table, out, row, seed)}
    if attacks:
        found["attacks"] = [AttackResult.read(path) for path in attacks]
    if audit is not None:
        pairs = PerformanceGeodesic.read(audit).pairs
        found["variation"] = [pair.total_variation for pair in pairs]
        found["curve"] = {key: _along(pairs, key) for key in ("t", "kl", "loss")}
    return found if log is None else {**found, **_certified_run(log)}


def _cost(table: Table, out: Path, row: str, seed: int) -> dict[str, float]:
    """What the training took; of an ensemble, the sum over its members."""
    if (members := table.members_of(row)) is not None:
        each = [_cost(table, out, members, one) for one in table.seeds_of(members)]
        return {key: sum(cost[key] for cost in each) for key in each[0]}
    lines = Run(run_folder(out, row, seed)).metrics
    minutes = round(sum(line["seconds"] for line in lines) / 60, 2)
    return {"updates": lines[-1]["updates"], "passes": lines[-1]["passes"], "minutes": minutes}


def _along(pairs: Sequence[PairCurve], key: str) -> list[float]:
    """The mean curve over the pairs of classes."""
    return np.mean([getattr(pair, key) for pair in pairs], axis=0).tolist()  # type: ignore[no-any-return]


def _certified_run(log: Path) -> dict[str, Any]:
    rows = Certificates.read(log)
    assert rows.correct is not None  # our own files always say
    return {
        "certified": [asdict(cell) for cell in rows.certified_accuracy()],
        "acr": rows.acr if rows.has_acr else None,
        "p_a": rows.about.get("p_a"),  # early files have none
        "reach": rows.reach,
        "radius": (rows.radius * rows.correct).tolist(),
    }


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
        if math.isfinite(reach := min(run["reach"] for run in runs)):
            row["reach"] = reach
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


def _attack(attacks: list[AttackResult]) -> dict[str, Any]:
    known = attacks[0].parameters
    kept = {key: known.get(key) for key in ("attack", "norm", "eps", "steps", "restarts")}
    means = {
        f"{which}_{key}": statistics.fmean(getattr(getattr(one, which), key) for one in attacks)
        for which in ("clean", "robust")
        for key in ("accuracy", "low", "high")
    }
    return {**kept, **means}


def _compared(others: dict[str, str], runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Each row against its other on the same images, at the seeds that both have."""
    found = {}
    for row, other in others.items():
        by_seed = {run["seed"]: run for run in runs[other]}
        pairs = [(run, by_seed[run["seed"]]) for run in runs[row] if run["seed"] in by_seed]
        compared = _comparison(pairs) if pairs and row != other else {}
        if compared.keys() > {"seeds"}:
            found[row] = compared
    return found


def _tested(table: Table, runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The comparison behind every test of the table that has been measured; a pair of rows stands once."""
    pairs = dict.fromkeys((test.row, test.control) for test in table.tests)
    compared = {(row, other): _compared({row: other}, runs) for row, other in pairs}
    return [{"row": row, "control": other, **found[row]} for (row, other), found in compared.items() if found]


def _comparison(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    found: dict[str, Any] = {"seeds": len(pairs)}
    if "radius" in pairs[0][0]:
        first, second = _both(pairs, "radius")
        reach = min(run["reach"] for pair in pairs for run in pair)
        cells = [cell["radius"] for cell in pairs[0][0]["certified"] if 0 < cell["radius"] <= reach]
        found["acr_difference"] = paired_difference(first, second)
        found["at_radius"] = [
            {"radius": r, **paired_difference(_certified(first, r), _certified(second, r))} for r in cells
        ]
    if len(pairs[0][0].get("variation", [])) > 1:  # one pair of classes has no spread to judge by
        found["variation_difference"] = paired_difference(*_both(pairs, "variation"))
    for which in range(len(pairs[0][0].get("attacks", []))):
        own, other = ([side["attacks"][which] for side in sides] for sides in zip(*pairs))
        robust, clean = (
            paired_difference(_flags(own, key), _flags(other, key))
            for key in ("robust_correct", "clean_correct")
        )
        found.setdefault("attacked_difference", []).append(robust)
        found["clean_difference"] = clean
    return found


def _flags(results: Sequence[AttackResult], key: str) -> Values:
    """Which images were right, ``(seeds, images)``."""
    return np.array([getattr(result, key).numpy() for result in results], dtype=np.float64)


def _both(pairs: list[tuple[dict[str, Any], dict[str, Any]]], key: str) -> tuple[Values, Values]:
    """The values of both sides, each ``(seeds, values)``."""
    return np.array([own[key] for own, _ in pairs]), np.array([other[key] for _, other in pairs])


def _certified(radii: Values, radius: float) -> Values:
    return (radii >= radius).astype(np.float64)


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
