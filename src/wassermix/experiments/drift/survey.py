"""The survey itself: views made once, cases judged net by net, all of it resumable."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_json
from wassermix.drift.check import FACTOR, SHARE
from wassermix.drift.estimators.named import Joint
from wassermix.drift.estimators.registry import make_estimator
from wassermix.drift.reference import Reference
from wassermix.drift.settings import DriftSettings
from wassermix.drift.views import View
from wassermix.experiments.drift import cbpe
from wassermix.experiments.drift.cases import SEEDS, SETTLING, SIZES, net_of
from wassermix.experiments.drift.judge import judged_cases
from wassermix.experiments.drift.looks import make_looks, read_looks
from wassermix.experiments.drift.summary import summarised

__all__ = ["run"]

Tell = Callable[[str, float], None]
NANNYML = "WASSERMIX_NANNYML"
"""The Python of an environment in which NannyML is installed, for its CBPE beside the others."""


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """Train, look, judge and sum up; killed, the same call goes on after the last finished net."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = [(name, seed) for seed in SEEDS for name in SIZES]
    rows: list[dict[str, Any]] = []
    for place, (name, seed) in enumerate(jobs):
        tell(f"{name}, seed {seed}, {net_of(name, seed)} net", place / len(jobs))
        rows += _judged(name, seed, out)
    absent = _add_cbpe(rows, out)
    joint = Joint()
    settings = {
        "weights": dict(zip(("input", "feature", "output"), joint.weights.values)),
        "relax": joint.relax,
        "entropy": joint.entropy,
        "interval_factor": FACTOR,
        "interval_share": SHARE,
        "settling_kinds": sorted(SETTLING),
    }
    summary = summarised(rows)
    sizes = {name: vars(size) for name, size in SIZES.items()}
    return {
        "settings": settings,
        "sizes": sizes,
        "seeds": list(SEEDS),
        "cbpe_absent": absent,
        "speed": speed(),
        "results": summary,
        "cases": [_short(row) for row in rows],
        "summary": _sentences(summary),
    }


def speed(known: int = 5000, new: int = 1000, k: int = 10) -> dict[str, float]:
    """CPU seconds of a monitor's estimate for ``new`` samples against a prepared reference of ``known``."""
    rng = np.random.default_rng(0)

    def view(count: int) -> View:
        return View(
            rng.normal(size=(count, 32)), rng.normal(size=(count, 32)), 3 * rng.normal(size=(count, k))
        )

    reference = Reference(view(known), rng.integers(k, size=known))
    names = dict.fromkeys([DriftSettings().estimator, *DriftSettings().beside])
    taken = {}
    for name in names:
        estimator = make_estimator(name).fit(reference)
        estimator.chances(view(new))  # what depends on the reference alone is done once
        batch, began = view(new), time.process_time()
        estimator.chances(batch)
        taken[name] = time.process_time() - began
    return {"reference": known, "new": new, **taken, "all": sum(taken.values())}


def _judged(name: str, seed: int, out: Path) -> list[dict[str, Any]]:
    path = out / f"{name}-{seed}.json"
    if not path.exists():
        make_looks(name, seed, out)
        write_json(path, judged_cases(read_looks(name, seed, out)))
    rows: list[dict[str, Any]] = read_json(path)
    return rows


def _add_cbpe(rows: list[dict[str, Any]], out: Path) -> str:
    """NannyML's estimate beside the others, from an environment of its own; why not, where it is absent."""
    python = os.environ.get(NANNYML)
    if python is None:
        return f"not run: {NANNYML} names no Python with NannyML"
    path = out / "cbpe.json"
    if not path.exists():
        command = [python, str(Path(cbpe.__file__)), str(out), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"{NANNYML}: NannyML failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    found = json.loads(path.read_text())
    for row in rows:
        key = f"{row['data']}-{row['seed']}/{row['kind']}@{row['strength']}"
        if key in found:
            row["estimates"]["nannyml-cbpe"] = found[key]
    return "" if all("nannyml-cbpe" in row["estimates"] for row in rows) else "some cases are missing"


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """A case as it is kept: what a reader may want to check, four decimals."""
    kept = ("data", "net", "seed", "kind", "strength", "settles", "samples")
    numbers = ("source", "truth", "spread", "disagreement")
    short = {key: row[key] for key in kept} | {key: round(row[key], 4) for key in numbers}
    return short | {"estimates": {name: round(value, 4) for name, value in row["estimates"].items()}}


def _sentences(summary: dict[str, Any]) -> list[str]:
    judged, shifted = summary["judged"]["plain"], summary["judged"]["label_shift"]
    errors = {name: 100 * one["mean"] for name, one in judged["estimators"].items()}
    cot, atc = judged["ratio"]["cot"], judged["ratio"]["atc"]
    return [
        f"judged kinds without label shift: error {errors['joint']:.1f} points; COT {errors['cot']:.1f}, "
        f"ATC {errors['atc']:.1f}, source accuracy {errors['source']:.1f}",
        f"ratio to COT {cot['ratio']:.2f} ({cot['low']:.2f} to {cot['high']:.2f}), to ATC {atc['ratio']:.2f} "
        f"({atc['low']:.2f} to {atc['high']:.2f})",
        f"with label shift: {100 * shifted['estimators']['joint']['mean']:.1f} points",
        f"false alarms without drift: {summary['false_alarms']}",
    ]
