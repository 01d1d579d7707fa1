"""``wassermix reproduce vectors``: optimal against random pairing on tables of vectors, beside simple rivals.

For each data set, row and seed two networks: one trained without noise, judged by its accuracy, and one
trained under noise, judged by its average certified radius. Rows are compared seed by seed: a seed fixes the
split, the start, the real samples of every batch and the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wassermix.certify import certify
from wassermix.core.files import read_json, write_json
from wassermix.experiments.statistics import Estimate
from wassermix.experiments.vector_data import VectorSplit, load_vectors
from wassermix.experiments.vector_training import (
    JITTER,
    PAIR_SIZE,
    ROWS,
    SMOOTHING,
    T_MAX,
    Training,
    train_vectors,
)
from wassermix.geodesic.geometry import measure_geometry

__all__ = ["CELLS", "run"]

Values = NDArray[np.float64]
Tell = Callable[[str, float], None]
SEEDS = tuple(range(10))
CELLS = [("iris", 1), ("wine", 1), ("breast_cancer", 1), ("digits", 1), ("rings", 1), ("rings", 3)]
"""Data set and ratio: how many samples of the second part of a batch for each real one."""
SIGMA, DRAWS, IMAGES = 0.5, 1000, 100
MEASURES = ("accuracy", "radius")


def run(out: Path, tell: Tell) -> dict[str, Any]:
    """Fill every cell and row, each kept in ``out`` as soon as it is done, and compare."""
    jobs = [(cell, row) for cell in CELLS for row in ROWS]
    found: dict[str, dict[str, Any]] = {}
    for number, ((name, ratio), row) in enumerate(jobs):
        tell(f"{name}, {row}", number / len(jobs))
        file = out / f"{name}-{ratio}-{row.replace(' ', '-')}.json"
        kept = read_json(file) if file.exists() else {}
        if kept.get("settings") != _settings():  # of an earlier version
            kept = {"settings": _settings(), "found": _judged(name, ratio, row)}
            write_json(file, kept)
        found.setdefault(f"{name} x{ratio}", {})[row] = kept["found"]
    cells = {cell: _compared(rows) for cell, rows in found.items()}
    geometry = {name: _geometry(name) for name in dict.fromkeys(name for name, _ in CELLS)}
    overall = {f"{row} - {other}": _overall(cells, row, other) for row, other in PAIRS}
    record = {"settings": _settings(), "cells": cells, "overall": overall, "geometry": geometry}
    return {**record, "summary": _summary(record)}


PAIRS = [("exact pairs", "random pairs"), *((row, "plain") for row in ROWS if row != "plain")]
"""Which row is compared with which."""


def _settings() -> dict[str, Any]:
    training = Training()
    return {
        "seeds": list(SEEDS), "sigma": SIGMA, "draws": DRAWS, "images": IMAGES, "updates": training.updates,
        "batch": training.real, "hidden": list(training.hidden), "pair_size": PAIR_SIZE, "t_max": T_MAX,
        "jitter": JITTER, "label_smoothing": SMOOTHING,
    }  # fmt: skip


def _judged(name: str, ratio: int, row: str) -> dict[str, list[float]]:
    """Accuracy without noise and average radius under noise, one of each for every seed."""
    splits = [load_vectors(name, seed) for seed in SEEDS]
    bare = train_vectors(splits, row, Training(ratio=ratio), seeds=SEEDS)
    noisy = train_vectors(splits, row, Training(ratio=ratio, sigma=SIGMA), seeds=SEEDS)
    return {
        "accuracy": [_accuracy(model, split) for model, split in zip(bare, splits)],
        "radius": [_radius(model, split) for model, split in zip(noisy, splits)],
    }


@torch.no_grad()
def _accuracy(model: nn.Module, split: VectorSplit) -> float:
    return float((model(split.x_test).argmax(dim=1) == split.y_test).double().mean())


def _radius(model: nn.Module, split: VectorSplit) -> float:
    return float(certify(model, split.x_test[:IMAGES], split.y_test[:IMAGES], sigma=SIGMA, n=DRAWS).acr)


def _compared(rows: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """A cell: means of every row, and the differences of the pairs of rows with their intervals."""
    return {
        "rows": {row: {key: float(np.mean(values[key])) for key in MEASURES} for row, values in rows.items()},
        "differences": {
            f"{row} - {other}": {key: _difference(rows[row][key], rows[other][key]) for key in MEASURES}
            for row, other in PAIRS
        },
    }


def _difference(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Mean difference over seeds with its standard error and 95% interval."""
    gaps: Values = np.subtract(first, second)
    return _interval(float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps))), len(gaps))


def _interval(mean: float, error: float, seeds: int) -> dict[str, float]:
    """Student's interval with ``seeds - 1`` degrees of freedom."""
    low, high = Estimate(mean, error, seeds - 1).interval()
    return {"mean": mean, "error": error, "low": low, "high": high}


def _overall(cells: dict[str, Any], row: str, other: str) -> dict[str, dict[str, float]]:
    """The mean over the tables (not the rings, which are made to order), their errors added up in squares.

    Student's law has as many degrees of freedom as for one table, the fewest that Welch's formula could give.
    """
    tables = [cell["differences"][f"{row} - {other}"] for name, cell in cells.items() if "rings" not in name]
    found = {}
    for key in MEASURES:
        mean = float(np.mean([one[key]["mean"] for one in tables]))
        error = float(np.sqrt(np.sum([one[key]["error"] ** 2 for one in tables]))) / len(tables)
        found[key] = _interval(mean, error, len(SEEDS))
    return found


def _geometry(name: str) -> dict[str, float]:
    """What ``wassermix geometry`` says about the first seed's training rows."""
    split = load_vectors(name, SEEDS[0])
    found = measure_geometry(split.x, split.y, embed="standard", pair_size=PAIR_SIZE)
    return {
        "dim": found.dim,
        "cost": found.cost.exact,
        "spread": found.spread.exact,
        "kept": found.kept,
        "third": 0.0 if found.intrusion is None else found.intrusion.exact,
        "third_random": 0.0 if found.intrusion is None else found.intrusion.random,
    }


def _summary(record: dict[str, Any]) -> list[str]:
    pairs = record["overall"]["exact pairs - random pairs"]
    rings = record["cells"]["rings x3"]["differences"]["exact pairs - random pairs"]
    return [
        f"Exact less random pairs over the tables: accuracy {_points(pairs['accuracy'])}, "
        f"average radius {_radii(pairs['radius'])}.",
        f"On the rings at ratio 3: accuracy {_points(rings['accuracy'])}, radius {_radii(rings['radius'])}.",
        *(
            f"{name}: accuracy {_points(found['accuracy'])}, radius {_radii(found['radius'])}."
            for name, found in record["overall"].items()
            if name.endswith("plain")
        ),
    ]


def _points(found: dict[str, float]) -> str:
    return f"{100 * found['mean']:+.2f} points ({100 * found['low']:+.2f} to {100 * found['high']:+.2f})"


def _radii(found: dict[str, float]) -> str:
    return f"{found['mean']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"
