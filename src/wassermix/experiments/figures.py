"""The picture that belongs to a table: loss along geodesics, or certified accuracy along a parameter."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wassermix.experiments.reach import row_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figure", "table_figure"]

COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7")
"""Told apart by colour-blind eyes too."""
DASHES = ("-", "--", ":", "-.")
"""Once all colours are used they come again with the next of these."""
SWEPT = re.compile(r"(\S+) (\d[\d.]*(?:[eE][+-]?\d+)?)")
"""A row that is one value of a parameter: ``b_n 64``, ``ot_lbd 1e-3``."""


def draw_figure(record: dict[str, Any], path: Path) -> bool:
    """Write the table's picture, if it has one and rows to show; whether it was written."""
    figure = table_figure(record)
    if figure is None:
        return False
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "wassermix"}):  # the same picture gives the same file
        figure.savefig(path, metadata={"Date": None})
    return True


def table_figure(record: dict[str, Any]) -> Figure | None:
    """The picture of a gathered record: ``geodesics`` is the paper's figure 2, ``certified`` figure 3."""
    wanted = record.get("figure")
    if wanted is None or not record["results"] or (wanted == "certified" and not _by_parameter(record)):
        return None
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    if wanted == "geodesics":
        _geodesics(figure, record["results"])
    else:
        _swept(figure, record)
    return figure


def _styled(things: Iterable[Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each thing with a colour and a dash of its own."""
    styles = ({"color": colour, "linestyle": dash} for dash, colour in product(DASHES, COLOURS))
    return zip(styles, things)


def _geodesics(figure: Figure, rows: dict[str, Any]) -> None:
    """The mean performance geodesic of each row: cross-entropy as the paper draws it, and KL beside it."""
    words = {"loss": "cross-entropy to the mixed label", "kl": "KL to the mixed label"}
    for axes, (key, label) in zip(figure.subplots(1, 2), words.items()):
        for style, (name, row) in _styled(rows.items()):
            axes.plot(row["curve"]["t"], row["curve"][key], label=name, linewidth=2, **style)
        axes.set(xlim=(0, 1), xlabel="t, from one class (0) to another (1)", ylabel=label)
        axes.set_ylim(bottom=0)
    figure.axes[0].legend(frameon=False, fontsize="small")


def _swept(figure: Figure, record: dict[str, Any]) -> None:
    """Certified accuracy at some radii along each parameter that rows are named after."""
    swept = _by_parameter(record)
    for axes, (name, points) in zip(figure.subplots(1, len(swept), squeeze=False)[0], swept.items()):
        points.sort(key=lambda point: point[0])
        for style, radius in _styled(sorted({radius for _, cells in points for radius in cells})[::2]):
            heights = [cells.get(radius, math.nan) for _, cells in points]
            axes.plot([value for value, _ in points], heights, marker="o", label=f"r = {radius:g}", **style)
        wide = points[-1][0] > 20 * points[0][0]
        axes.set(xlabel=name, ylabel="certified accuracy, %", xscale="log" if wide else "linear")
    figure.axes[0].legend(frameon=False, fontsize="small")


def _by_parameter(record: dict[str, Any]) -> dict[str, list[tuple[float, dict[float, float]]]]:
    """The rows ``b_n 64`` by parameter: its value, and the accuracy in per cent at each radius."""
    swept: dict[str, list[tuple[float, dict[float, float]]]] = {}
    for name in record["results"]:
        if found := SWEPT.fullmatch(name):
            swept.setdefault(found[1], []).append((float(found[2]), _reached(record, name)))
    return swept


def _reached(record: dict[str, Any], row: str) -> dict[float, float]:
    """Accuracies at the radii that the draws reach; beyond them there is nothing to draw."""
    reach = row_reach(record, row)
    cells = record["results"][row]["certified"]
    return {cell["radius"]: 100 * cell["accuracy"] for cell in cells if cell["radius"] <= reach}
