"""The table that ``wassermix reproduce`` prints: every number under its own head."""

from __future__ import annotations

from typing import Any

from wassermix.cli.reproduce import _shown


def cell(radius: float, accuracy: float) -> dict[str, float]:
    return {"radius": radius, "accuracy": accuracy, "low": 0.0, "high": 1.0}


def attack(norm: str, accuracy: float, steps: int | None = 4) -> dict[str, Any]:
    known = {"attack": "pgd", "norm": norm, "eps": 1.0, "steps": steps, "restarts": 1}
    return {**known, "clean_accuracy": 0.9, "robust_accuracy": accuracy}


def printed(rows: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Each row's cells by the head of their column."""
    common = {"seeds": [0], "updates": 1, "minutes": 1.0}
    results = {name: {**common, **row} for name, row in rows.items()}
    table = _shown({"title": "T", "control": "a", "against_control": {}, "results": results})
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
