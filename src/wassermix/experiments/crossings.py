"""Two rows of a table that cross: one leads in average radius, the other in images that reach some p_A."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from scipy import special

from wassermix.certify import Standing, crossing
from wassermix.certify.crossings import AVERAGE, ON_GRID, each_of, level_words
from wassermix.experiments.gather import compare_runs
from wassermix.experiments.sigmas import at_sigma, sigma_of
from wassermix.experiments.statistics import estimate_of

__all__ = ["compared", "mean_radius", "on_grid", "radius_words", "table_crossings"]

Record = Mapping[str, Any]


def compared(record: Record) -> list[tuple[str, str, Record]]:
    """Each row with the row that the table compares it with, and their paired differences."""
    control, several = record["control"], record.get("sigmas")
    found = [
        (row, at_sigma(control, sigma_of(row)) if several else control, own)
        for row, own in record["against_control"].items()
    ]
    further = record.get("against_rows", {})  # files of earlier versions have none
    return found + [(row, record["against"][row], own) for row, own in further.items()]


def table_crossings(record: Record) -> list[str]:
    """A sentence for each two rows of which one leads in mean radius, the other in images at some p_A.

    Looked at are the rows that the table compares, and the row with the largest radius beside all others.
    """
    pairs = {frozenset(pair): pair for pair in [*_led(record), *_asked(record)]}  # as asked, if both
    found = [_crossing(record, *pair) for pair in pairs.values()]
    return [sentence for sentence in found if sentence is not None]


def on_grid(row: Record) -> bool:
    """Whether a row's radii are known at the points of a grid only, so that they have no average."""
    return "certified" in row and row.get("acr") is None


def radius_words(row: Record) -> str:
    """What the mean of a row's radii is called."""
    return ON_GRID if on_grid(row) else AVERAGE


def mean_radius(row: Record) -> float:
    """The average radius; on a grid the mean of radii rounded down, which is the area under its steps."""
    if row.get("acr") is not None:
        return float(row["acr"])
    cells = sorted(row["certified"], key=lambda cell: float(cell["radius"]))
    return float(sum((b["radius"] - a["radius"]) * b["accuracy"] for a, b in pairwise(cells)))


def _asked(record: Record) -> list[tuple[str, str]]:
    """Certified rows and those that the table compares them with."""
    rows = _certified(record)
    return [(row, other) for row, other, _ in compared(record) if {row, other} <= rows.keys()]


def _led(record: Record) -> list[tuple[str, str]]:
    """The row with the largest radius, beside each other one."""
    rows = _certified(record)
    leader = max(rows, key=lambda name: mean_radius(rows[name]), default="")
    return [(leader, other) for other in rows if other != leader]


def _certified(record: Record) -> dict[str, Record]:
    return {name: row for name, row in record["results"].items() if "certified" in row}


def _crossing(record: Record, row: str, other: str) -> str | None:
    first, second = record["results"][row], record["results"][other]
    found, means = _differences(record, row, other), (mean_radius(first), mean_radius(second))
    gap = found.get("acr_difference", {}).get("mean", 0.0)
    agree = gap * (means[0] - means[1]) > 0  # the rows' own means may be over other seeds
    if not agree or not _alike(first, second):
        return None
    levels = _standings(found, (first, second), images=record["certify"]["images"])
    return crossing((row, other), means, levels, measure=radius_words(first))


def _alike(first: Record, second: Record) -> bool:
    """Whether the means of two rows' radii are of one kind: averages, or over the same grid."""
    if on_grid(first) or on_grid(second):
        return on_grid(first) and on_grid(second) and _grid(first).keys() == _grid(second).keys()
    return True


def _differences(record: Record, row: str, other: str) -> Record:
    """The paired differences of two rows: from their runs, or as the record compares them."""
    runs = record.get("runs", {})  # files of earlier versions have none
    if measured := compare_runs(runs.get(row, []), runs.get(other, [])):
        return measured
    return next((own for one, two, own in compared(record) if (one, two) == (row, other)), {})


def _standings(found: Record, rows: tuple[Record, Record], *, images: int) -> list[Standing]:
    """Two rows at every radius at which they were compared, from the smallest."""
    first, second = (_grid(row) for row in rows)
    zero = [{"radius": 0.0, **found["right_difference"]}] if "right_difference" in found else []
    cells = [cell for cell in [*zero, *found.get("at_radius", [])] if cell["radius"] in first.keys() & second]
    sigma, confidence = _sigma(*rows), each_of(len(cells))
    standings = []
    for cell in cells:
        radius = cell["radius"]
        ends = estimate_of(cell, seeds=found["seeds"], units=images).interval(confidence)
        standings.append(Standing(level_words(radius, sigma), (first[radius], second[radius]), *ends))
    return standings


def _grid(row: Record) -> dict[float, float]:
    """Certified accuracy by radius."""
    return {cell["radius"]: cell["accuracy"] for cell in row["certified"]}


def _sigma(*rows: Record) -> float | None:
    """The noise that all rows share, from the radii that their levels of p stand for; None without one."""
    cells = [next((cell for cell in row.get("p_a", ()) if cell["p"] > 0.5), None) for row in rows]
    found = {None if cell is None else round(cell["radius"] / special.ndtri(cell["p"]), 6) for cell in cells}
    return float(one) if len(found) == 1 and (one := found.pop()) is not None else None
