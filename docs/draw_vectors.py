"""docs/vectors.svg and the tables of docs/vectors.md on pairing and its rivals, from results/vectors.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from page import fill, table

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f")
SCALE = {"accuracy": 100.0, "radius": 1.0}
NAMES = {"accuracy": "accuracy, points", "radius": "average certified radius"}
Record = dict[str, Any]


def draw(record: Record, docs: Path) -> None:
    """Differences with their intervals as a picture and a table, and the rows' means."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"  # the same record gives the same file
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, key in zip(figure.subplots(1, 2, sharey=True), SCALE):
        differences(axes, record, key)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(docs / "vectors.svg", metadata={"Date": None})
    fill(docs / "vectors.md", "rows", means(record))
    fill(docs / "vectors.md", "differences", gaps(record))
    fill(docs / "vectors.md", "summary", [f"- {line}" for line in record["summary"]])


def everywhere(record: Record) -> Record:
    """Differences by cell, the mean over the tables last."""
    cells = {cell: found["differences"] for cell, found in record["cells"].items()}
    return {**cells, "mean of the tables": record["overall"]}


def differences(axes: Axes, record: Record, key: str) -> None:
    """One row of intervals for each data set, a colour for each pair of rows."""
    cells = everywhere(record)
    names = list(record["overall"])
    for number, (colour, name) in enumerate(zip(COLOURS, names)):
        found = [cell[name][key] for cell in cells.values()]
        middle = [SCALE[key] * one["mean"] for one in found]
        half = [SCALE[key] * (one["high"] - one["low"]) / 2 for one in found]
        places = [-(place + 0.15 * (number - 2)) for place in range(len(cells))]
        axes.errorbar(middle, places, xerr=half, fmt="o", color=colour, markersize=4, label=name)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks([-place for place in range(len(cells))], list(cells))
    axes.set(xlabel=f"difference of {NAMES[key]} (95% interval)")
    axes.spines[["top", "right"]].set_visible(False)


def means(record: Record) -> list[str]:
    """Accuracy and radius of every row."""
    rows = next(iter(record["cells"].values()))["rows"]
    lines = [
        [cell, *(f"{100 * one['accuracy']:.1f} / {one['radius']:.3f}" for one in found["rows"].values())]
        for cell, found in record["cells"].items()
    ]
    return table(["data x ratio", *rows], lines)


def gaps(record: Record) -> list[str]:
    """Differences with their intervals."""
    lines = [
        [cell, name, *(interval(found[key], SCALE[key]) for key in SCALE)]
        for cell, pairs in everywhere(record).items()
        for name, found in pairs.items()
    ]
    return table(["data x ratio", "difference", *NAMES.values()], lines)


def interval(found: dict[str, float], scale: float) -> str:
    """A mean with its interval, marked where the interval does not hold 0."""
    mean, low, high = (scale * found[key] for key in ("mean", "low", "high"))
    digits = 2 if scale > 1 else 4
    text = f"{mean:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"
    return f"**{text}**" if low > 0 or high < 0 else text
