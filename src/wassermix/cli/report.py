"""``wassermix report``: one page from run directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wassermix.cli.console import console, say
from wassermix.engine.ensemble import require_different
from wassermix.report import summary_record, summary_table, write_report

__all__ = ["run_report"]


def run_report(runs: list[Path], out: Path) -> dict[str, Any]:
    """Write the page, print its headline table, and say where it is; the table's numbers as a record."""
    require_different(runs)
    summary = write_report(runs, out)
    console.print(summary_table(runs))
    for line in (*summary.verdict, *summary.missing):
        say(line)
    say(f"report: {out.resolve()}")
    told = {"verdict": summary.verdict, "missing": summary.missing}
    return {"report": out.resolve(), "runs": summary.runs, **told, "measures": summary_record(runs)}
