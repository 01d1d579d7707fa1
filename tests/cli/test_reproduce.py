"""The table that ``wassermix reproduce`` prints: every number under its own head."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from wassermix.cli.reproduce import _shown


def cell(radius: float, accuracy: float) -> dict[str, float]:
    return {"radius": radius, "accuracy": accuracy, "low": 0.0, "high": 1.0}


def attack(norm: str, accuracy: float, steps: int | None = 4) -> dict[str, Any]:
    known = {"attack": "pgd", "norm": norm, "eps": 1.0, "steps": steps, "restarts": 1}
    return {**known, "clean_accuracy": 0.9, "robust_accuracy": accuracy}


def sure(*shares: float) -> list[dict[str, float]]:
    """The distribution of p_A at 0.5, 0.9 and 0.99, at sigma 1."""
    levels = ((0.5, 0.0), (0.9, 1.2815516), (0.99, 2.3263479))
    return [
        {"p": p, "radius": radius, "share": share, "low": share - 0.04, "high": share + 0.03}
        for (p, radius), share in zip(levels, shares)
    ]


def gap(mean: float) -> dict[str, float]:
    """A paired difference that stands out from chance."""
    return {"mean": mean, "low": mean - 0.001, "high": mean + 0.001, "error": 0.0005, "freedom": 99.0}


def shown(rows: dict[str, Any], compared: dict[str, Any] | None = None) -> Table:
    """What is printed of a table whose control is row a."""
    common = {"seeds": [0], "updates": 1, "minutes": 1.0, "reach": 9.0}
    results = {name: {**common, **row} for name, row in rows.items()}
    plan = {"images": 100}
    return _shown(
        {"title": "T", "control": "a", "certify": plan, "against_control": compared or {}, "results": results}
    )


def printed(rows: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Each row's cells by the head of their column."""
    table = shown(rows)
    columns = {str(column.header): list(column.cells) for column in table.columns}
    names = columns.pop("row")
    return {
        str(name): {head: str(cells[place]) for head, cells in columns.items()}
        for place, name in enumerate(names)
    }


def test_rows_at_other_radii_stand_under_their_own_heads() -> None:
    low = {"certified": [cell(0.0, 0.9), cell(0.25, 0.8), cell(0.5, 0.7)]}
    high = {"certified": [cell(0.0, 0.6), cell(1.0, 0.5), cell(2.0, 0.4)]}
    found = printed({"a": low, "b": high})
    assert (found["a"]["r = 0.25"], found["a"]["r = 2"]) == ("80.0%", "")
    assert (found["b"]["r = 0"], found["b"]["r = 2"], found["b"]["r = 0.5"]) == ("60.0%", "40.0%", "")


def test_attacks_that_differ_in_their_norm_alone_are_both_shown() -> None:
    found = printed({"a": {"attacks": [attack("l2", 0.5), attack("linf", 0.1), attack("l2", 0.7, None)]}})
    assert found["a"]["pgd, l2, eps 1, steps 4, restarts 1"] == "50.0%"
    assert found["a"]["pgd, linf, eps 1, steps 4, restarts 1"] == "10.0%"
    assert found["a"]["pgd, l2, eps 1, restarts 1"] == "70.0%"


def test_p_a_and_a_small_and_a_large_radius_stand_beside_an_average_radius() -> None:
    cells = [cell(0.0, 0.9), cell(1.0, 0.7), cell(2.0, 0.4), cell(3.0, 0.0)]
    row = {"acr": 1.2345, "certified": cells, "reach": 2.5, "p_a": sure(0.91, 0.6, 0.3)}
    found = printed({"a": row})["a"]
    told = ("average radius", "p_A >= 0.5", "p_A >= 0.99", "r = 0", "r = 2")
    assert [found[head] for head in told] == ["1.234", "91.0%", "30.0%", "90.0%", "40.0%"]
    assert not {"p_A >= 0.9", "r = 1", "r = 3"} & found.keys()


def test_the_band_of_p_a_is_told_below() -> None:
    said = str(shown({"a": {"p_a": sure(0.9, 0.6, 0.3)}}).caption)
    assert "95% band reaches 4.0 points or less down and 3.0 or less up" in said
    assert shown({"a": {}}).caption is None


def test_differences_are_told_with_their_measure_and_on_a_grid_there_is_no_average_radius() -> None:
    for own, words in (({"acr": 1.0}, "average radius"), ({}, "mean radius on the grid (rounded down)")):
        rows = {name: {"certified": [cell(0.0, 0.9)], **own} for name in "ab"}
        table = shown(rows, {"b": {"seeds": 1, "acr_difference": gap(0.1)}})
        assert str(table.columns[-1].header) == "difference"
        assert f"difference: {words} against a, with its 95% interval." in str(table.caption)
        assert list(table.columns[-1].cells) == ["", "+0.100 (+0.099 to +0.101)"]


def test_two_rows_that_cross_are_named_below_on_a_grid_too() -> None:
    rows = {
        "a": {"certified": [cell(0.0, 0.9), cell(1.0, 0.8), cell(2.0, 0.1)], "p_a": sure(0.9, 0.5, 0.1)},
        "b": {"certified": [cell(0.0, 0.8), cell(1.0, 0.7), cell(2.0, 0.6)], "p_a": sure(0.8, 0.7, 0.3)},
    }
    cells = [{"radius": 1.0, **gap(-0.1)}, {"radius": 2.0, **gap(0.5)}]
    said = shown(rows, {"b": {"seeds": 1, "acr_difference": gap(0.4), "at_radius": cells}}).caption
    assert "b has the larger mean radius on the grid (rounded down) (1.300 against 0.900)" in str(said)
    assert "p_A of at least 0.8413, radius 1 (70.0% against 80.0% of a)" in str(said)
