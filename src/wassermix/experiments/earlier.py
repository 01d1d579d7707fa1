"""What a table's record of another time still says: rows that would be trained and judged in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wassermix.experiments.measured import Measured, without_speed

__all__ = ["changed_rows", "earlier_runs", "with_earlier_summaries"]

JUDGED_BY = ("recipe", "common", "split", "certify", "attacks", "audit")
"""What all rows of a table share."""

Record = Mapping[str, Any]


def earlier_runs(table: Record, earlier: Record) -> dict[str, list[Measured]]:
    """The runs of an earlier record that are runs of today's ``table`` too, by row."""
    return {row: runs for row, runs in earlier.get("runs", {}).items() if _same(table, earlier, row)}


def with_earlier_summaries(
    record: dict[str, Any], earlier: Record, *, compared: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """``record`` with the rows of an earlier one that kept no runs, and what compared two such rows.

    ``compared`` says for each kind of comparison which row is compared with which. Early records hold means
    and intervals only: their rows stand beside new ones, but cannot be compared with them image by image. A
    comparison of two such rows stays also where one of them has been trained anew since.
    """
    same = {row for row in earlier["results"] if _same(record, earlier, row)}
    old = same - earlier.get("runs", {}).keys()  # rows that kept their runs were joined run by run
    joined = {**record, "results": _joined(record, "results", earlier["results"], old)}
    for key, others in compared.items():
        pairs = {row for row, other in others.items() if {row, other} <= same}
        pairs = {row for row in pairs if _asked_too(record, earlier, key, row)}
        joined[key] = _joined(record, key, earlier.get(key, {}), pairs)
    known = {(test["row"], test["control"]) for test in record["tested"]}
    asked = {(test["row"], test["control"]) for test in record["tests"]}
    joined["tested"] = record["tested"] + [
        test
        for test in earlier.get("tested", [])
        if (pair := (test["row"], test["control"])) in asked - known and set(pair) <= same
    ]
    return joined


def changed_rows(record: Record, earlier: Record) -> list[str]:
    """Rows of an earlier record that today's lacks, because its table trains or judges them otherwise."""
    return [row for row in earlier["results"] if row not in record["results"]]


def _same(table: Record, earlier: Record, row: str) -> bool:
    """Whether a row's training and judgement are the same in both."""
    if table["rows"].get(row, 0) != earlier["rows"].get(row, 1):
        return False
    return all(_bare(table.get(key)) == _bare(earlier.get(key)) for key in JUDGED_BY)


def _bare(value: Any) -> Any:
    return without_speed(value) if isinstance(value, dict) else value


def _asked_too(record: Record, earlier: Record, key: str, row: str) -> bool:
    """Whether the earlier record compared the row with the same one."""
    if key == "against_control":
        return bool(record["control"] == earlier["control"])
    return bool(record["against"].get(row) == earlier.get("against", {}).get(row))


def _joined(record: Record, key: str, earlier: Mapping[str, Any], kept: set[str]) -> dict[str, Any]:
    """What the record holds under ``key`` and the ``kept`` rows of an earlier one, in the table's order."""
    both = {**{row: found for row, found in earlier.items() if row in kept}, **record[key]}
    return {row: both[row] for row in record["rows"] if row in both}
