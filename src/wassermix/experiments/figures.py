"""The picture that belongs to a table: loss along geodesics, or certified accuracy along a parameter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figure", "table_figure"]

COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7")
"""Told apart by colour-blind eyes too."""
SWEPT = re.compile(r"(\S+) (\d+)")
"""A row that is one value of a parameter: ``b_n 64``."""


def draw_figure(record: dict[str, Any], path: Path) -> bool:
    """Write the table's picture, if it has one and rows to show; whether it was written."""
    figure = table_figure(record)
    if figure is None:
        return False
    figure.savefig(path, metadata={"Date": None})
    return True


def table_figure(record: dict[str, Any]) -> Figure | None:
    """The picture of a gathered record: ``geodesics`` is the paper's figure 2, ``certified`` figure 3."""
    wanted = record.get("figure")
    if wanted is None or not record["results"]:
        return None
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "wassermix"  # the same picture gives the same file
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    (_geodesics if wanted == "geodesics" else _swept)(figure, record["results"])
    return figure


def _geodesics(figure: Figure, rows: dict[str, Any]) -> None:
    """The mean performance geodesic of each row: cross-entropy as the paper draws it, and KL beside it."""
    words = {"loss": "cross-entropy to the mixed label", "kl": "KL to the mixed label"}
    for axes, (key, label) in zip(figure.subplots(1, 2), words.items()):
        for colour, (name, row) in zip(COLOURS, rows.items()):
            axes.plot(row["curve"]["t"], row["curve"][key], color=colour, label=name, linewidth=2)
        axes.set(xlim=(0, 1), xlabel="t, from one class (0) to another (1)", ylabel=label)
        axes.set_ylim(bottom=0)
    figure.axes[0].legend(frameon=False, fontsize="small")


def _swept(figure: Figure, rows: dict[str, Any]) -> None:
    """Certified accuracy at some radii along each parameter that rows are named after."""
    swept: dict[str, list[tuple[int, dict[float, float]]]] = {}
    for name, row in rows.items():
        if found := SWEPT.fullmatch(name):
            cells = {cell["radius"]: 100 * cell["accuracy"] for cell in row["certified"]}
            swept.setdefault(found[1], []).append((int(found[2]), cells))
    for axes, (name, points) in zip(figure.subplots(1, max(len(swept), 1), squeeze=False)[0], swept.items()):
        points.sort(key=lambda point: point[0])
        for colour, radius in zip(COLOURS, sorted(points[0][1])[::2]):
            heights = [cells[radius] for _, cells in points]
            axes.plot([value for value, _ in points], heights, "o-", color=colour, label=f"r = {radius:g}")
        wide = points[-1][0] > 20 * points[0][0]
        axes.set(xlabel=name, ylabel="certified accuracy, %", xscale="log" if wide else "linear")
    figure.axes[0].legend(frameon=False, fontsize="small")
