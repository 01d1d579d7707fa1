"""The picture of docs/choose-a-method.md: what each method makes of its passes, beside the literature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wassermix.experiments.page import STEP

Record = dict[str, Any]
SMALL, LARGE = 0.5, 2.0
"""The radii whose certified accuracy is drawn."""
SURE = 0.99
"""The level of p_A that is drawn."""


def draw_scaling(scaling: Record, rows: Record, records: Record, path: Path) -> None:
    """Average radius, certified accuracy and p_A against passes, judged alike; the literature with its n."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"
    figure = Figure(figsize=(10, 7.6), layout="constrained")
    (radius, certified), (sure, literature) = figure.subplots(2, 2)
    methods, draws = _methods(scaling, rows), f"n = {scaling['certify']['n']:,}"
    _draw_passes(radius, methods, lambda row: row["acr"], f"average certified radius, {draws}")
    _draw_passes(certified, methods, lambda row: _at(row, SMALL), f"certified, per cent, {draws}")
    _draw_passes(certified, methods, lambda row: _at(row, LARGE), f"certified, per cent, {draws}", style="o:")
    certified.set_title(f"at radius {SMALL:g} (above) and {LARGE:g} (below)", fontsize=9)
    _draw_passes(sure, methods, _sure, f"images with p_A of {SURE:g} or more, per cent")
    if records["results"]:
        _draw_radii(literature, records)
    for axes in (radius, certified, sure, literature):
        axes.spines[["top", "right"]].set_visible(False)
    radius.legend(frameon=False, fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def _methods(scaling: Record, rows: Record) -> dict[str, list[Record]]:
    """The rows of each method by their passes; a training of other settings is a method of its own."""
    found: dict[str, list[Record]] = {}
    for name, row in sorted(rows.items(), key=lambda item: float(item[1]["passes"])):
        recipe = str(scaling.get("rows", {}).get(name, {}).get("recipe", "/reduced/"))
        whole = "" if "/reduced/" in recipe or recipe == "best" else ", the published training"
        found.setdefault(name.rpartition(" at ")[0] + whole, []).append(row)
    return found


def _at(row: Record, radius: float) -> float | None:
    return next((100 * cell["accuracy"] for cell in row["certified"] if cell["radius"] == radius), None)


def _sure(row: Record) -> float | None:
    return next((100 * cell["share"] for cell in row.get("p_a", ()) if cell["p"] == SURE), None)


def _draw_passes(
    axes: Axes, methods: dict[str, list[Record]], measure: Any, label: str, *, style: str = "o-"
) -> None:
    """One line for each method, a point for each length that it was trained to."""
    for place, (name, rows) in enumerate(methods.items()):
        points = [(row["passes"], value) for row in rows if (value := measure(row)) is not None]
        if points:
            width, colour = (2.2 if name == "recipe" else 1), f"C{place % 10}"
            marker = style if place < 10 else style.replace("o", "s")
            axes.plot(*zip(*points), marker, markersize=4, linewidth=width, color=colour, label=name)
    axes.set(xscale="log", xlabel="forward+backward passes", ylabel=label)


def _draw_radii(axes: Axes, records: Record) -> None:
    """Certified accuracy against the radius at sigma 1.0: our rows whole, published ones dashed."""
    for name, row in records["results"].items():
        if "1.0" in name:
            cells = [(cell["radius"], 100 * cell["accuracy"]) for cell in row["certified"]]
            label = f"{name.partition(' at ')[0]}, ours, {row['passes'] / 1e6:.1f} M"
            axes.plot(*zip(*cells), "-", linewidth=2, label=label)
    for name, row in records["published"].items():
        if "1.0" in name:
            cells = [(STEP * place, value) for place, value in enumerate(row["certified"])]
            label = f"{name}, published, {row['passes'] / 1e6:.0f} M"
            axes.plot(*zip(*cells), "--", linewidth=1, label=label)
    axes.set(xlabel="l2 radius", ylabel="certified, per cent", ylim=(0, 105))
    axes.set_title(f"beside the literature, n = {records['certify']['n']:,}", fontsize=9)
    axes.legend(frameon=False, fontsize=7, loc="lower left")
