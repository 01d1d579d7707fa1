"""The results as a table for the terminal: one row per measure, one column per run, 95% intervals beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from wassermix.core.intervals import Share
from wassermix.report.compare import (
    CLEAN,
    CLEAN_SMOOTHED,
    Comparison,
    attack_groups,
    certified_groups,
    comparisons,
    crossings,
    group_name,
    one_each,
)
from wassermix.report.reading import load_runs
from wassermix.report.records import CertifiedSet, RunRecord
from wassermix.report.verdict import along, audit_groups, variation
from wassermix.report.wording import interval, p_value, percent, points, settings

__all__ = ["summary_record", "summary_rows", "summary_table"]

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
    return [head, *([*row.cells, *([_difference(row, tests)] if tests else [])] for row in _rows(records))]


def summary_record(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """The measured rows as plain values, for programs.

    Each has ``measure``, ``protocol`` and ``runs``: for each run by name a number, or a share as a dictionary
    with ``accuracy``, ``low`` and ``high``, or None. Of two runs a row may have their paired
    ``difference`` (the second minus the first, as a share) and its exact ``p_value``.
    """
    records = load_runs([Path(run) for run in runs])
    tests = comparisons(records) if len(records) == 2 else []
    measured = [row for row in _rows(records) if row.values]
    return [_row_record(row, [run.name for run in records], tests) for row in measured]


def _row_record(row: Row, names: Sequence[str], tests: Sequence[Comparison]) -> dict[str, Any]:
    values = [asdict(value) if isinstance(value, Share) else value for value in row.values]
    found: dict[str, Any] = {
        "measure": row.measure,
        "protocol": row.protocol,
        "runs": dict(zip(names, values)),
    }
    test = _test(row, tests)
    if test is not None:
        found |= {"difference": test.gain, "p_value": test.result.p_value}
    return found


@dataclass(frozen=True)
class Row:
    """A line of the table; ``measure`` and ``protocol`` find its paired test."""

    cells: list[str]
    measure: str = ""
    protocol: str = ""
    values: tuple[Share | float | None, ...] = ()
    """The numbers behind the cells; empty for a line of settings or a heading."""


def _rows(runs: Sequence[RunRecord]) -> list[Row]:
    return [*_setting_rows(runs), *_attack_rows(runs), *_certified_rows(runs), *_audit_rows(runs)]


def _share_row(title: str, shares: Sequence[Share | None], *, measure: str, protocol: str = "") -> Row:
    return Row([title, *map(_cell, shares)], measure, protocol, tuple(shares))


def _number_row(
    title: str, numbers: Sequence[float | None], *, measure: str, protocol: str = "", form: str = ".2f"
) -> Row:
    cells = ["–" if number is None else f"{number:{form}}" for number in numbers]
    return Row([title, *cells], measure, protocol, tuple(numbers))


def _setting_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for key in settings(runs[0]):
        yield Row([key, *(settings(run)[key] for run in runs)])


def _attack_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    clean, smoothed = [run.clean for run in runs], [run.clean_smoothed for run in runs]
    for title, shares in ((CLEAN, clean), (CLEAN_SMOOTHED, smoothed)):
        if any(share is not None for share in shares):
            yield _share_row(title, shares, measure=title)
    for group in attack_groups(runs).values():
        found = {name: attack.robust for name, (_, attack) in one_each(group).items()}
        title = f"accuracy under {group[0][1].title}"
        yield _share_row(title, [found.get(run.name) for run in runs], measure=title)


def _certified_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for key, group in certified_groups(runs).items():
        tables = {name: item for name, (_, item) in one_each(group).items()}
        protocol = group_name(key, group)
        yield Row([f"certified ({protocol})", *("" for _ in runs)])
        for radius in sorted({radius for item in tables.values() for radius in item.radii}):
            shares = [tables[run.name].table.get(radius) if run.name in tables else None for run in runs]
            measure = f"certified at radius {radius:g}"
            yield _share_row(f"  at radius {radius:g}", shares, measure=measure, protocol=protocol)
        acr = [tables[run.name].acr if run.name in tables else None for run in runs]
        if any(value is not None for value in acr):
            title = "average radius (ACR)"
            yield _number_row(f"  {title}", acr, measure=title, protocol=protocol, form=".3f")
        yield from _sureness_rows(runs, tables, protocol=protocol)


def _audit_rows(runs: Sequence[RunRecord]) -> Iterator[Row]:
    for group in audit_groups(runs):
        found = [variation(group[run.name]) if run.name in group else None for run in runs]
        title = f"total variation between classes{along(group)}"
        yield _number_row(title, found, measure=title)


def _sureness_rows(
    runs: Sequence[RunRecord], tables: Mapping[str, CertifiedSet], *, protocol: str
) -> Iterator[Row]:
    """The distribution of p_A at a few levels: the small radius and the large one side by side."""
    found = {p for item in tables.values() for p in item.sureness}
    for p in SHOWN_LEVELS:
        shares = [tables[run.name].sureness.get(p) if run.name in tables else None for run in runs]
        if p in found:
            yield _share_row(
                f"  p_A at least {p:g}", shares, measure=f"p_A at least {p:g}", protocol=protocol
            )


def _cell(share: Share | None) -> str:
    return "–" if share is None else f"{percent(share.accuracy)} ({interval(share)})"


def _difference(row: Row, tests: Sequence[Comparison]) -> str:
    test = _test(row, tests)
    return "" if test is None else f"{points(test.gain)} ({p_value(test.result.p_value)})"


def _test(row: Row, tests: Sequence[Comparison]) -> Comparison | None:
    """The paired test of a row, where there is one."""
    mine = (row.measure, row.protocol)
    return next((test for test in tests if (test.measure, test.protocol) == mine), None)
