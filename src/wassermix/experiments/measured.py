"""One finished run of a table as plain data: what it cost and what was measured of it, image by image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.attacks import AttackResult, AttackSettings, make_attack
from wassermix.audit import PerformanceGeodesic
from wassermix.audit.result import PairCurve
from wassermix.certify import Certificates, distribution
from wassermix.certify.pa import plain
from wassermix.core.settings import as_record
from wassermix.engine.run import Run
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import Config, config_hash
from wassermix.experiments.runner import audit_name, run_folder
from wassermix.experiments.table import CertifyPlan, Table
from wassermix.recipes import read_recipe

__all__ = [
    "ATTACK_WORDS",
    "Measured",
    "Values",
    "flags",
    "measured_run",
    "radii",
    "right",
    "training_mark",
    "without_speed",
]

Measured = dict[str, Any]
"""A run as its table's file keeps it, so that rows measured elsewhere or later can be compared with it."""
Values = NDArray[np.float64]
SPEED = ("backend", "batch_size", "layout")
"""How fast a certificate is made, which does not change what it says."""
FOUND_OUT = {"sampler": "auto", "grid": 0}
"""Settings of a certification with the value that leaves them to be found out from the data."""
ATTACK_WORDS = ("attack", "norm", "eps", "steps", "restarts", "step_size", "random_start")
"""What tells the attacks of a table apart; records of early versions lack the last two."""


def measured_run(table: Table, out: Path, row: str, seed: int) -> Measured | None:
    """One finished run, or None; only the files that the table's own plan names are read.

    A run that was trained or certified by other settings than the table's today does not count.
    """
    folder = run_folder(out, row, seed)
    config, log = table.config(row, seed), None
    attacks = [folder / "attack" / f"{_label(settings)}.json" for settings in table.attack_settings(config)]
    if table.certify is not None:
        log = folder / "certify" / f"{table.certify.settings(config.sigma).name}.tsv"
    asked = table.audit_settings(config)
    audit = None if asked is None else folder / "audit" / f"{audit_name(asked)}.json"
    needed = [*attacks, *([log.with_suffix(".json")] if log else []), *([audit] if audit else [])]
    if not needed or not all(path.exists() for path in needed) or not _trained_alike(table, out, row, seed):
        return None
    if log is not None and table.certify is not None and not _judged_alike(table.certify, config.sigma, log):
        return None
    found: Measured = {"seed": seed, "training": training_mark(table, row, seed)}
    found |= _cost(table, out, row, seed)
    if attacks:
        found["attacks"] = [_attacked(AttackResult.read(path)) for path in attacks]
    if audit is not None:
        pairs = PerformanceGeodesic.read(audit).pairs
        found["variation"] = [pair.total_variation for pair in pairs]
        found["curve"] = {key: _along(pairs, key) for key in ("t", "kl", "loss")}
    return found if log is None else {**found, **_certified(log)}


def training_mark(table: Table, row: str, seed: int) -> str:
    """A fingerprint of a row's training: its recipe as written, what the row changes, and the seed.

    Of an ensemble, the fingerprints of its members. Defaults have no part in it, so that an option that is
    new in a later version leaves the marks of earlier runs as they are.
    """
    if (members := table.members_of(row)) is not None:
        return "+".join(training_mark(table, members, one) for one in table.seeds_of(members))
    recipe = read_recipe(table.recipe_of(row))
    return config_hash({"recipe": recipe, "changes": table.changes_of(row), "seed": seed})


def _trained_alike(table: Table, out: Path, row: str, seed: int) -> bool:
    """Whether the run in the row's folder, or each member of an ensemble, was trained as the table says."""
    if (members := table.members_of(row)) is not None:
        return all(_trained_alike(table, out, members, one) for one in table.seeds_of(members))
    run = RunDir(run_folder(out, row, seed))
    if not run.metrics_file.exists():
        return False
    trained = run.config(trust=True)  # with today's defaults for options that it did not know
    return _anywhere(trained) == _anywhere(table.config(row, seed))


def _anywhere(config: Config) -> str:
    """A fingerprint of a config that does not depend on the folder of its data."""
    files = {key: Path(config.data[key]).name for key in ("name", "test") if config.data.get(key)}
    return config_hash(config.model_copy(update={"data": {**config.data, **files}}))


def _judged_alike(plan: CertifyPlan, sigma: float, log: Path) -> bool:
    """Whether certificates are of the plan's images and settings, its speed aside."""
    found, asked = Certificates.read(log), without_speed(as_record(plan.settings(sigma)))
    if found.settings is None:
        return False
    told = {**as_record(found.settings), **{key: v for key, v in FOUND_OUT.items() if asked[key] == v}}
    if without_speed(told) != asked:
        return False
    return len(found) == plan.images or (len(found) < plan.images and found.about.get("every") == 1)


def _label(settings: AttackSettings) -> str:
    """What an attack's file is called, whatever the range of the inputs: a finished attack fitted them."""
    return make_attack(replace(settings, allow_any_eps=True)).label


def without_speed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a certification that decide what it says."""
    return {key: value for key, value in settings.items() if key not in SPEED}


def radii(run: Measured) -> Values:
    """The radius proved for each image, 0 where the prediction is wrong, ``(images,)``."""
    return np.array(run["radius"].split(), dtype=np.float64)


def right(run: Measured) -> Values | None:
    """Which images are right with any radius at all, ``(images,)``, as 0 and 1.

    On a grid that may be the radius 0, as of wrong ones: early records, without these flags, do not tell.
    """
    if "right" in run:
        return flags(run, "right")
    return None if run.get("acr") is None else (radii(run) > 0).astype(np.float64)


def flags(attack: Measured, key: str) -> Values:
    """Which images were right, ``(images,)``, as 0 and 1; ``key`` is clean_correct, for instance."""
    return np.array(list(attack[key]), dtype=np.float64)


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


def _certified(log: Path) -> Measured:
    rows = Certificates.read(log)
    assert rows.correct is not None  # our own files always say
    return {
        "certified": [asdict(cell) for cell in rows.certified_accuracy()],
        "acr": rows.acr if rows.has_acr else None,
        "p_a": plain(distribution(rows)),  # from the counts: files of early versions have none, or another
        "reach": rows.reach if math.isfinite(rows.reach) else None,
        "right": "".join(map(str, rows.correct.int().tolist())),
        "radius": " ".join(f"{value:.7g}" for value in (rows.radius * rows.correct).tolist()),
    }


def _attacked(result: AttackResult) -> Measured:
    kept = {key: result.parameters.get(key) for key in ATTACK_WORDS}
    means = {
        f"{which}_{key}": getattr(getattr(result, which), key)
        for which in ("clean", "robust")
        for key in ("accuracy", "low", "high")
    }
    right = {key: getattr(result, key).int().tolist() for key in ("clean_correct", "robust_correct")}
    return {**kept, **means, **{key: "".join(map(str, values)) for key, values in right.items()}}
