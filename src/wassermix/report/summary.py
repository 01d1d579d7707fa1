"""The results as a table for the terminal: one row per measure, one column per run, 95% intervals beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from wassermix.core.intervals import Share
from wassermix.report.compare import (
    Comparison,
    attack_groups,
    certified_groups,
    comparisons,
    crossings,
    protocol_name,
)
from wassermix.report.reading import load_runs
from wassermix.report.records import CertifiedSet, RunRecord
from wassermix.report.verdict import audit_groups, variation
from wassermix.report.wording import interval, p_value, percent, points, settings

__all__ = ["summary_rows", "summary_table"]

SHOWN_LEVELS = (0.5, 0.9, 0.99)
"""Of the distribution of p_A a terminal shows these; the page shows more."""


def summary_table(runs: Sequence[Path]) -> Table:
    """The table that `wassermix demo` and `wassermix report` print."""
    head, *rows = summary_rows(runs)
    shown = Table(title="Accuracy with 95% intervals", title_justify="left", header_style="bold")
    for position, name in enumerate(head):
        shown.add_column(Text(name), justify="left" if position == 0 else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row), end_section=row[0] == "passes")
    groups = certified_groups(load_runs([Path(run) for run in runs])).values()
    said = "\n".join(f"{sentence}." for group in groups for sentence in crossings(group))
    shown.caption = Text(said) if said else None  # names are no markup
    return shown


def summary_rows(runs: Sequence[Path]) -> list[list[str]]:
    """The same table as plain text, the header first; two runs get a column with their paired difference."""
    records = load_runs([Path(run) for run in runs])
    tests = comparisons(records) if len(records) == 2 else []
    head = ["measure", *(run.name for run in records), *(["difference (exact p)"] if tests else [])]
    rows = [*_setting_rows(records), *_attack_rows(records), *_certified_rows(records)]
    rows += _audit_rows(records)
    return [head, *([*row.cells, *([_difference(row, tests)] if tests else [])] for row in rows)]


@dataclass(frozen=True)
class Row:
    """A line of the table; ``measure`` and ``protocol`` find its paired test."""

    cells: list[str]
    measure: str = ""
    protocol: str = ""


def _setting_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for key in settings(runs[0]):
        yield Row([key, *(settings(run)[key] for run in runs)])


def _attack_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    if any(run.attacked for run in runs):
        yield Row(["clean accuracy", *(_cell(run.clean) for run in runs)], "clean accuracy")
    for group in attack_groups(runs).values():
        found = {run.name: attack.robust for run, attack in group}
        name = f"accuracy under {group[0][1].title}"
        yield Row([name, *(_cell(found.get(run.name)) for run in runs)], name)


def _certified_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for group in certified_groups(runs).values():
        tables = {run.name: item for run, item in reversed(group)}
        protocol = protocol_name(group[0][1])
        yield Row([f"certified ({protocol})", *("" for _ in runs)])
        for radius in sorted({radius for item in tables.values() for radius in item.radii}):
            cells = [tables[run.name].table.get(radius) if run.name in tables else None for run in runs]
            yield Row(
                [f"  at radius {radius:g}", *map(_cell, cells)], f"certified at radius {radius:g}", protocol
            )
        acr = [tables[run.name].acr if run.name in tables else None for run in runs]
        if any(value is not None for value in acr):
            yield Row(
                ["  average radius (ACR)", *("–" if value is None else f"{value:.3f}" for value in acr)]
            )
        yield from _sureness_rows(runs, tables)


def _audit_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for group in audit_groups(runs):
        cells = [f"{variation(group[run.name]):.2f}" if run.name in group else "–" for run in runs]
        yield Row(["total variation between classes", *cells])


def _sureness_rows(runs: Sequence[RunRecord], tables: Mapping[str, CertifiedSet]) -> Iterator[Row]:
    """The distribution of p_A at a few levels: the small radius and the large one side by side."""
    found = {p for item in tables.values() for p in item.sureness}
    for p in SHOWN_LEVELS:
        cells = [tables[run.name].sureness.get(p) if run.name in tables else None for run in runs]
        if p in found:
            yield Row([f"  p_A at least {p:g}", *map(_cell, cells)])


def _cell(share: Share | None) -> str:
    return "–" if share is None else f"{percent(share.accuracy)} ({interval(share)})"


def _difference(row: Row, tests: Sequence[Comparison]) -> str:
    for test in tests:
        if (test.measure, test.protocol) == (row.measure, row.protocol):
            return f"{points(test.gain)} ({p_value(test.result.p_value)})"
    return ""
