"""Rows of a table that cross: found from runs image by image, or from what an early record compares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from wassermix.certify import Certificate, Certificates, CertifySettings
from wassermix.experiments import load_table, table_page
from wassermix.experiments.crossings import mean_radius, on_grid, table_crossings
from wassermix.experiments.gather import compare_runs
from wassermix.experiments.measured import _certified, radii, right
from wassermix.experiments.verdicts import judge_table

GRID = (0.0, 0.5, 1.0, 1.5)
IMAGES = 200


def sure(p: float) -> dict[str, float]:
    """Half of the images at this level, at sigma 1."""
    return {"p": p, "radius": float(special.ndtri(p)), "share": 0.5, "low": 0.4, "high": 0.6}


def run_of(proved: list[int], *, grid: bool, flags: bool = True) -> dict[str, Any]:
    """A run of 200 images, of which the first so many reach each radius."""
    place = np.arange(IMAGES)
    reached = np.sum([place < count for count in proved], axis=0)
    radius = np.where(reached > 0, np.take(GRID, np.maximum(reached - 1, 0)), 0.0) + (0 if grid else 1e-3)
    radius = radius * (reached > 0)
    cells = [{"radius": r, "accuracy": n / IMAGES, "low": 0.0, "high": 1.0} for r, n in zip(GRID, proved)]
    found = {
        "seed": 0, "updates": 1, "passes": 1, "minutes": 1.0, "certified": cells, "reach": None,
        "acr": None if grid else float(radius.mean()),
        "p_a": [sure(p) for p in (0.5, 0.9)],
        "radius": " ".join(f"{value:.7g}" for value in radius),
    }  # fmt: skip
    right = {"right": "".join("1" if one else "0" for one in reached > 0)} if flags else {}
    return {**found, **right}


def record_of(runs: dict[str, dict[str, Any]], *, keep_runs: bool = True) -> dict[str, Any]:
    """The record of a table with these rows, whose control is the first."""
    control, *others = runs
    kept = ("certified", "acr", "p_a", "updates", "passes", "minutes")
    results = {
        name: {"seeds": [0], **{key: run[key] for key in kept if run[key] is not None}}
        for name, run in runs.items()
    }
    plan = {"mode": "grid", "n0": 100, "n": 500, "alpha": 0.001, "images": IMAGES}
    return {
        "table": "t", "title": "T", "recipe": "r", "seeds": [0], "more_seeds": {}, "certify": plan,
        "split": "test", "results": results, "control": control, "against": {},
        "against_control": {name: compare_runs([runs[name]], [runs[control]]) for name in others},
        **({"runs": {name: [run] for name, run in runs.items()}} if keep_runs else {}),
    }  # fmt: skip


MANY, LONG = [180, 160, 100, 10], [140, 130, 120, 110]
"""Many images with a small radius; fewer, but with a long one."""


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("keep_runs", [False, True])
def test_two_rows_that_cross_are_told_with_and_without_a_grid_and_runs(grid: bool, keep_runs: bool) -> None:
    runs = {"many": run_of(MANY, grid=grid), "long": run_of(LONG, grid=grid)}
    (said,) = table_crossings(record_of(runs, keep_runs=keep_runs))
    words = "mean radius on the grid (rounded down)" if grid else "average radius"
    assert said.startswith(f"long has the larger {words} (0.9")
    assert "p_A of at least 0.5 (70.0% against 90.0% of many)" in said


def test_an_early_grid_without_flags_is_told_from_its_first_radius_on() -> None:
    runs = {"many": run_of(MANY, grid=True, flags=False), "long": run_of(LONG, grid=True, flags=False)}
    (said,) = table_crossings(record_of(runs))
    assert "p_A of at least 0.6915, radius 0.5 (65.0% against 80.0% of many)" in said


def test_a_row_that_leads_at_every_radius_crosses_no_other() -> None:
    runs = {"worse": run_of([140, 100, 50, 0], grid=True), "better": run_of(MANY, grid=True)}
    assert table_crossings(record_of(runs)) == []


def test_the_row_with_the_largest_radius_is_looked_at_beside_rows_that_the_table_does_not_compare() -> None:
    runs = {
        "control": run_of([100, 90, 40, 0], grid=True),
        "many": run_of(MANY, grid=True),
        "long": run_of(LONG, grid=True),
    }
    (said,) = table_crossings(record_of(runs))
    assert "of many)" in said


def test_means_over_different_grids_are_not_compared() -> None:
    runs = {"many": run_of(MANY, grid=True), "long": run_of(LONG, grid=True)}
    record = record_of(runs)
    record["results"]["long"]["certified"] = record["results"]["long"]["certified"][:-1]
    assert table_crossings(record) == []


def test_the_mean_radius_of_a_grid_is_the_mean_of_its_rounded_radii() -> None:
    run = run_of(LONG, grid=True)
    row = record_of({"long": run})["results"]["long"]
    assert on_grid(row)
    assert mean_radius(row) == pytest.approx(float(radii(run).mean()))


@pytest.mark.parametrize("grid", [False, True])
def test_the_page_says_where_rows_cross_and_names_its_differences(grid: bool) -> None:
    runs = {"many": run_of(MANY, grid=grid), "long": run_of(LONG, grid=grid)}
    lines = table_page(record_of(runs)).splitlines()
    assert sum(line.startswith("- long has the larger") for line in lines) == 1
    words = "Mean radius on the grid (rounded down)" if grid else "Average radius"
    assert sum(line.startswith(f"{words} of a row less another's") for line in lines) == 1
    assert "| long | 50.0 (40.0 to 60.0) | 50.0 (40.0 to 60.0) |" in lines


def test_p_a_is_counted_anew_from_the_draws_whatever_an_early_file_says(tmp_path: Path) -> None:
    rows = [Certificate(i, 0, -1, 0.0, 1000, 520, "fixed") for i in range(10)]
    found = Certificates.of(rows, CertifySettings(sigma=1.0, n=1000, sampler="gaussian"))
    for suffix, write in found.writers().items():
        write(tmp_path / f"log{suffix}")
    early = {**json.loads((tmp_path / "log.json").read_text()), "p_a": [{"p": 0.5, "share": 1.0}]}
    (tmp_path / "log.json").write_text(json.dumps(early))
    read = _certified(tmp_path / "log.tsv")
    assert (read["p_a"][0]["p"], read["p_a"][0]["share"]) == (0.5, 0.0)
    assert read["right"] == "0" * 10


def test_a_right_image_at_radius_0_of_a_grid_is_told_apart_from_a_wrong_one() -> None:
    run = run_of([150, 100, 0, 0], grid=True)
    flags = right(run)
    assert flags is not None
    assert (flags.sum(), (radii(run) > 0).sum()) == (150, 100)
    assert right({"radius": "0 0.5", "acr": None}) is None


def test_a_claim_on_radii_of_a_grid_is_not_said_to_be_of_an_average_radius() -> None:
    for name, words in (
        ("paper-table-5", "mean radius on the grid"),
        ("pairing", "average certified radius"),
    ):
        told = {one.what for one in judge_table(name, load_table(name), None) if "radius" in one.what}
        assert any(words in what for what in told)
        assert not any("average certified" in what for what in told if words.startswith("mean"))
