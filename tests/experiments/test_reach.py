"""Radii that no draw reaches are no zeros, whatever the age of the record."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from wassermix.certify import CertifySettings
from wassermix.certify.rule import furthest
from wassermix.experiments import table_page
from wassermix.experiments.reach import row_reach

RESULTS = Path(__file__).parents[2] / "results"
PLAN = {"mode": "fixed", "n": 500, "n0": 100, "alpha": 0.001, "images": 10, "radii": []}


def record(*, rows: dict[str, Any], common: dict[str, Any] | None = None, **row: Any) -> dict[str, Any]:
    """A table's record as the first versions wrote it: no row says how far it reaches."""
    cells = [{"radius": r, "accuracy": a, "low": a, "high": a} for r, a in ((0.0, 0.9), (1.0, 0.5), (3.0, 0))]
    found = {"seeds": [0], "updates": 1, "passes": 2, "minutes": 3, "acr": 0.7, "certified": cells, **row}
    return {
        "table": "t", "title": "T", "recipe": "mnist/reduced/gaussian-1.0", "seeds": [0], "more_seeds": {},
        "certify": PLAN, "split": "test", "results": dict.fromkeys(rows, found), "against_control": {},
        "control": next(iter(rows)), "against": {}, "rows": rows, "common": common or {},
    }  # fmt: skip


def flawless(sigma: float) -> float:
    """Cohen's radius of 500 draws that are all right: ``sigma * Phi^-1(alpha^(1/n))``."""
    return sigma * float(stats.norm.ppf(0.001 ** (1 / 500)))


def cells_of(page: str, row: str) -> list[str]:
    line = next(line for line in page.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_radius_beyond_the_draws_of_an_early_record_is_a_dash_and_not_zero() -> None:
    assert cells_of(table_page(record(rows={"own": {}})), "own")[-3:] == ["90.0 ± 0.0", "50.0 ± 0.0", "–"]


def test_what_a_record_says_itself_counts() -> None:
    assert cells_of(table_page(record(rows={"own": {}}, reach=0.5)), "own")[-2:] == ["–", "–"]
    assert cells_of(table_page(record(rows={"own": {}}, reach=3.5)), "own")[-1] == "0.0 ± 0.0"


@pytest.mark.parametrize(
    ("own", "common", "sigma"),
    [
        ({}, {}, 1.0),
        ({}, {"sigma": 0.5}, 0.5),
        ({"method.sigma": 0.25}, {"sigma": 0.5}, 0.5),
        ({"method.sigma": 0.25}, {}, 0.25),
        ({"recipe": "mnist/reduced/gaussian-0.5"}, {}, 0.5),
    ],
)
def test_the_reach_follows_from_the_draws_and_the_rows_noise(
    own: dict[str, Any], common: dict[str, Any], sigma: float
) -> None:
    assert row_reach(record(rows={"own": own}, common=common), "own") == pytest.approx(flawless(sigma))


def test_an_ensemble_reaches_as_far_as_its_members() -> None:
    rows = {"one": {"sigma": 0.5}, "both": {"ensemble": "one"}}
    assert row_reach(record(rows=rows), "both") == pytest.approx(flawless(0.5))


def test_of_a_recipe_that_is_not_here_nothing_is_assumed() -> None:
    assert row_reach({**record(rows={"own": {}}), "recipe": "mine.yaml"}, "own") == math.inf


def test_more_draws_reach_further_and_the_grid_says_its_own_points() -> None:
    few, many = (furthest(CertifySettings(sigma=0.5, n=n)) for n in (1000, 100_000))
    assert 0 < few < many
    grid = CertifySettings(sigma=0.5, n=1000, mode="grid")
    assert furthest(grid) in grid.radii


@pytest.mark.parametrize(
    "name", ["geodesic-forms", "macer-weight", "recipe-search", "smoothness-weight", "colour"]
)
def test_no_kept_record_shows_a_zero_that_no_network_could_better(name: str) -> None:
    kept = json.loads((RESULTS / f"{name}.json").read_text())
    page = table_page(kept)
    for row, found in kept["results"].items():
        beyond = sum(cell["radius"] > row_reach(kept, row) for cell in found["certified"])
        assert beyond > 0
        assert cells_of(page, row).count("–") == beyond
