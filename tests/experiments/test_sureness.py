"""Which shares of p_A a table's record may be quoted with."""

from __future__ import annotations

from typing import Any

import pytest

from wassermix.experiments.page import _sureness
from wassermix.experiments.sureness import sure_cells

CELLS = [{"p": p, "share": 0.9, "low": 0.8, "high": 0.95} for p in (0.5, 0.9)]


@pytest.mark.parametrize(
    ("mode", "runs", "told"),
    [("fixed", {}, [0.9]), ("fixed", {"a": []}, [0.5, 0.9]), ("grid", {}, [0.5, 0.9])],
)
def test_early_records_that_picked_a_class_do_not_tell_the_share_at_one_half(
    mode: str, runs: dict[str, list[object]], told: list[float]
) -> None:
    record = {"results": {"a": {"p_a": CELLS}}, "certify": {"mode": mode}, "runs": runs}
    assert [cell["p"] for cell in sure_cells(record, "a")] == told


def test_a_row_without_certificates_tells_nothing() -> None:
    assert sure_cells({"results": {"a": {}}, "certify": None}, "a") == []


def test_rows_with_and_without_a_level_stand_under_the_right_heads() -> None:
    record: dict[str, Any] = {
        "results": {"old": {"p_a": CELLS}, "new": {"p_a": CELLS}},
        "certify": {"mode": "fixed"},
        "runs": {"new": []},
    }
    heads, _, old, new = [line.split(" | ") for line in _sureness(record) if line.startswith("|")]
    assert [cell.strip("| ") for cell in heads] == ["row", "p = 0.5", "p = 0.9"]
    assert old[1].strip() == ""
    assert new[1] == "90.0 (80.0 to 95.0)"
