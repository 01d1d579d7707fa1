"""The terminal's table: the same numbers, one column a run, and nothing read as markup."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from report.synthetic_runs import write_certified, write_run
from wassermix.report import summary_rows, summary_table


def printed(runs: list[Path]) -> str:
    console = Console(width=160, file=io.StringIO())
    console.print(summary_table(runs))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_two_runs_get_a_column_of_differences(two_runs: list[Path]) -> None:
    rows = {row[0]: row[1:] for row in summary_rows(two_runs)}
    assert rows["measure"] == ["gaussian", "geodesic", "difference (exact p)"]
    before, after, difference = rows["  at radius 0.5"]
    gain = float(after.split("%")[0]) - float(before.split("%")[0])
    assert abs(float(difference.split()[0].replace("−", "-")) - gain) < 0.11
    assert "–" in before
    assert rows["updates"][:2] == ["640", "640"]


def test_three_runs_have_no_such_column(tmp_path: Path, two_runs: list[Path]) -> None:
    third = write_run(tmp_path / "third", seed=2, images=40)
    assert summary_rows([*two_runs, third])[0] == ["measure", "gaussian", "geodesic", "third"]


def test_every_row_has_a_cell_for_every_column(tmp_path: Path, two_runs: list[Path]) -> None:
    write_certified(write_run(tmp_path / "third", seed=2, images=40), mode="grid", name="grid")
    rows = summary_rows([two_runs[0], tmp_path / "third"])
    assert {len(row) for row in rows} == {len(rows[0])}


def test_brackets_in_names_are_shown_as_they_are(tmp_path: Path) -> None:
    assert "[bold]x" in printed([write_run(tmp_path / "[bold]x", images=40)])


def test_the_terminal_shows_the_distribution_of_p_a_where_it_was_recorded(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    path = next((run / "certify").glob("*.json"))
    record = json.loads(path.read_text())
    record["p_a"] = [{"p": 0.9, "radius": 0.6, "share": 0.5, "low": 0.4, "high": 0.6}]
    path.write_text(json.dumps(record))
    rows = {row[0]: row[1] for row in summary_rows([run])}
    assert rows["  p_A at least 0.9"] == "50.0% (40.0–60.0)"
