"""The recommendation's tables tell p_A beside radii, where their rows know it."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLAN = {"mode": "grid", "n": 1000, "images": 100}


def row(acr: float, shares: dict[float, float]) -> dict[str, Any]:
    """A row with these shares of p_A, each with a band from 5 points below to 3 above."""
    cells = [{"radius": 0.5 * i, "accuracy": 0.9, "low": 0.8, "high": 1.0} for i in range(6)]
    sure = [{"p": p, "share": s, "low": s - 0.05, "high": s + 0.03} for p, s in shares.items()]
    own = {"updates": 10, "passes": 600000, "acr": acr, "certified": cells}
    return {**own, "p_a": sure} if sure else own


def record(**rows: dict[str, Any]) -> dict[str, Any]:
    named = {name.replace("_", " "): own for name, own in rows.items()}
    return {
        "table": "t", "certify": PLAN, "control": "none",
        "common": {"budget": "passes:300000", "method.sigma": 1.0},
        "results": named, "against_control": {}, "published": {"theirs": {"passes": 9, "certified": [90.0]}},
    }  # fmt: skip


def cells_of(page: str) -> dict[str, list[dict[str, str]]]:
    """Every row's cells by their heads, once for each table that the row stands in."""
    found: dict[str, list[dict[str, str]]] = {}
    heads: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] in ("trial", "row"):
            heads = cells
        elif cells and set(cells[0]) != {"-"}:
            found.setdefault(cells[0], []).append(dict(zip(heads, cells, strict=True)))
    return found


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page made from a search, a curve and a table on a grid."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    import recipe

    monkeypatch.setattr(recipe, "draw_scaling", lambda *_: None)
    known = row(1.5, {0.5: 0.9, 0.7: 0.8, 0.9: 0.6, 0.99: 0.3})
    results, docs = tmp_path / "results", tmp_path / "docs"
    for folder in (results, docs, tmp_path / "src" / "wassermix" / "recipes"):
        folder.mkdir(parents=True)
    for name in ("recipe-search", "recipe-search-long", "equal-compute"):
        (results / f"{name}.json").write_text(json.dumps(record(early=row(1.4, {}))))
    for name in ("recipe-search", "records"):
        (results / f"{name}.json").write_text(json.dumps(record(recipe_at_1=known, early=row(1.4, {}))))
    both = record(recipe_at_1=known, early=row(1.4, {}), **{"early at 0.6 M": row(1.3, {})})
    (results / "scaling.json").write_text(json.dumps(both))
    (docs / "choose-a-method.md").write_text(f"{recipe.BEGIN}\n{recipe.END}\n")
    recipe.write_recommendation(results, docs)
    return (docs / "choose-a-method.md").read_text()


def test_every_table_whose_rows_know_p_a_tells_it(page: str) -> None:
    told = cells_of(page)["recipe at 1"]
    assert len(told) == 3
    for cells in told:
        assert [cells[f"p_A >= {p}"] for p in ("0.5", "0.9", "0.99")] == ["90.0", "60.0", "30.0"]
        assert cells["r = 0.5"] == "90.0"


def test_rows_that_do_not_know_p_a_stay_empty_under_its_heads(page: str) -> None:
    early = cells_of(page)["early"]
    told = [cells.get("p_A >= 0.5", "no such head") for cells in early]
    assert told == ["", "", "", "no such head"]
    assert all(cells["r = 0.5"] == "90.0" for cells in early)
    assert cells_of(page)["theirs, published"][0]["r = 0"] == "90.0"


def test_a_row_that_two_tables_have_is_that_of_the_scaling_table(page: str) -> None:
    (told,) = cells_of(page)["early at 0.6 M"]
    assert told["average radius"] == "1.300"


def test_the_band_of_p_a_is_told_before_each_such_table(page: str) -> None:
    assert len(re.findall("reaches 5.0 points or less down and 3.0 or less up", page)) == 3


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that writes the page."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    return importlib.import_module("recipe")


def test_a_row_is_set_against_the_recipe_of_as_many_passes(recipe: Any) -> None:
    passes = {"recipe at 1 M": 1_000_000, "recipe at 2 M": 2_000_100, "rival at 2 M": 2_000_000}
    rows = {name: {"passes": own} for name, own in passes.items()}
    assert recipe._as_long(rows, "rival at 2 M") == "recipe at 2 M"
    assert recipe._as_long({**rows, "longer": {"passes": 4_000_000}}, "longer") == ""


def test_on_colour_the_page_names_who_is_ahead_only_where_that_is_shown(recipe: Any) -> None:
    def told(low: float, high: float) -> str:
        gap = {"mean": (low + high) / 2, "low": low, "high": high}
        rows = {name: {"acr": 0.3, "passes": 240_000} for name in ("recipe", "consistency")}
        plan = {"table": "t", "common": {"method.sigma": 0.5}, "certify": {"n": 100, "images": 10}}
        against = {"recipe": {"acr_difference": gap}}
        return " ".join(recipe._colour({**plan, "results": rows, "against_rows": against}))

    assert "`method=consistency`" in told(-0.1, -0.05)
    assert "do not tell the two apart" in told(-0.1, 0.05)


def test_the_first_table_has_a_column_for_each_length_and_its_largest_radius_in_bold(recipe: Any) -> None:
    by_length = importlib.import_module("lengths").by_length
    radii = {"recipe at 0.6 M": 1.5, "gaussian at 0.6 M": 1.4004, "gaussian at 2.4 M": 1.45}
    heads, _, first, second, _ = by_length({name: {"acr": radius} for name, radius in radii.items()})
    assert heads.startswith("| average radius after | 0.6 million passes | 2.4 million passes |")
    assert first == "| recipe | **1.500** |  |  |  |"
    assert second == "| gaussian | 1.400 | **1.450** |  |  |"
    assert by_length({}) == []


@pytest.fixture
def literature(recipe: Any) -> Any:
    """The module that sets our trainings beside the published ones."""
    return importlib.import_module("literature")


def estimated(*shares: float) -> dict[str, Any]:
    """A row of estimates at radii 0, 0.25, ..., each with an interval of a point to both sides."""
    cells = [
        {"radius": 0.25 * place, "all": share, "low": share - 0.01, "high": share + 0.01}
        for place, share in enumerate(shares)
    ]
    return {"images": 500, "of": 10_000, "radii": cells}


def test_the_estimate_for_all_digits_is_set_against_its_publication(literature: Any) -> None:
    published = {"gaussian-0.5": {"certified": [97.5, 82.0]}, "smoothmix-1.0": {"certified": [50.0, 40.0]}}
    found = {"results": {"gaussian-0.5": estimated(0.97, 0.80)}}
    page = "\n".join(literature.whole_set(found, {"published": published}))
    told = cells_of(page.replace("|  |", "| row |"))
    assert told["interval"][0] == {"row": "interval", "r = 0": "96.0 to 98.0", "r = 0.25": "79.0 to 81.0"}
    assert told["gaussian-0.5, published"][0]["r = 0.25"] == "82.0"
    assert "smoothmix-1.0" not in page
    assert (
        "within 1.5 points at 1 of 2 radii and at most 1 point below at 1 (lowest -2.0, at r = 0.25)" in page
    )
    assert "the interval holds the published number at 1." in page
    assert "is 0.200, 0.205 as published (-0.005)" in page


def test_the_recipe_is_set_against_the_records_where_it_has_no_publication_of_its_own(
    literature: Any,
) -> None:
    published = {"smoothmix-1.0": {"certified": [90.0, 70.0]}, "catrs-1.0": {"certified": [89.0, 75.0]}}
    found = {"results": {"recommended-1.0": estimated(0.91, 0.72)}}
    page = "\n".join(literature.whole_set(found, {"published": published}))
    assert "Beside published smoothmix-1.0" in page
    assert "is 0.180, 0.175 as published (+0.005)" in page
    assert "Beside published catrs-1.0" in page
    assert "at most 1 point below at 1 (lowest -3.0, at r = 0.25)" in page
