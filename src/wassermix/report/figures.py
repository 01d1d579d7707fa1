"""The report's pictures as matplotlib figures, usable alone; no global plotting state is touched.

>>> figure = certified_curves([Curve("ours", r, accuracy, low, high)])
>>> figure.savefig("curve.png")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wassermix.core.intervals import share_of
from wassermix.report.records import Audited, CertifiedSet, Floats, PairCurve, Triangle

__all__ = [
    "Curve",
    "certified_curves",
    "curve_of_rows",
    "drawn_curves",
    "mean_geodesics",
    "pair_matrix",
    "pair_values",
    "predicted_shares",
    "training_curves",
    "triangle_map",
]

INK, FAINT, PAPER = "#1d2330", "#d5d9e2", "#fefefd"
SERIES = ("#0072b3", "#d55e01", "#009e74", "#cc79a8", "#e69f01", "#56b4ea", "#8c6d31", "#6f6f70")
"""Okabe and Ito's colours, told apart with any colour vision; each is unique so a page can restyle it."""
DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
WIDTH, HEIGHT = 5.4, 3.5
LONGEST = 48
"""Characters of a name in a figure."""
MANY_CLASSES = 12
"""Beyond this the cells of a matrix are too small for numbers."""


@dataclass(frozen=True)
class Curve:
    """A labelled line with an interval at each point; arrays ``(points,)``."""

    label: str
    x: Floats
    y: Floats
    low: Floats
    high: Floats
    stepped: bool = False
    series: int | None = None
    """Which colour; by default the line's place in the figure."""


def drawn_curves(curves: Sequence[Curve], x: str, y: str) -> Figure:
    """Lines of shares over ``x``, each with its interval as a band where it has one."""
    figure, axes = _one()
    for number, curve in enumerate(curves):
        _line(axes, curve, number, marker="o")
    axes.set_ylim(0, 1.02)
    _dress(axes, x, y, percent=True)
    _legend(axes)
    return figure


def curve_of_rows(label: str, rows: CertifiedSet, points: int = 200, *, series: int | None = None) -> Curve:
    """Certified accuracy over the radius, from a log, with 95% intervals."""
    radii = np.linspace(0, max(float(rows.radius.max()), 1e-6) * 1.02, points)
    counts = [int(rows.certified(radius).sum()) for radius in radii]
    shares = {count: share_of(count, rows.images) for count in set(counts)}
    low, high = np.array([(shares[count].low, shares[count].high) for count in counts]).T
    return Curve(label, radii, np.array(counts) / rows.images, low, high, stepped=True, series=series)


def certified_curves(curves: Sequence[Curve]) -> Figure:
    """Certified accuracy over the radius, one line per run, its 95% interval as a band."""
    figure, axes = _one()
    for number, curve in enumerate(curves):
        _line(axes, curve, number, marker="" if curve.stepped else "o")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)
    _dress(axes, "radius (ℓ2, data scale)", "certified accuracy", percent=True)
    _legend(axes)
    return figure


def mean_geodesics(
    audits: Mapping[str, Audited], measure: str = "kl", series: Mapping[str, int] | None = None
) -> Figure:
    """The performance geodesic: mean of ``measure`` over pairs along t; the band holds 80% of the pairs.

    ``series`` numbers the colour of each label; by default they follow the order of ``audits``.
    """
    figure, axes = _one()
    for number, (label, audit) in enumerate(audits.items()):
        t = audit.pairs[0].t
        values = np.stack([np.interp(t, pair.t, getattr(pair, measure)) for pair in audit.pairs])
        low, high = np.quantile(values, (0.1, 0.9), axis=0)
        colour = (series or {}).get(label)
        _line(axes, Curve(label, t, values.mean(0), low, high, series=colour), number)
    axes.set_xlim(0, 1)
    words = {"kl": "KL to the mixed label (nats)", "loss": "cross-entropy (nats)", "accuracy": "accuracy"}
    _dress(
        axes, "t: from the source class (0) to the target (1)", words[measure], percent=measure == "accuracy"
    )
    axes.set_ylim(bottom=0)
    _legend(axes)
    return figure


def predicted_shares(audit: Audited) -> Figure:
    """What the model says along t, mean over pairs: the source class, the target class, or a third."""
    figure, axes = _one()
    t = audit.pairs[0].t
    names = (("as_source", "source"), ("as_target", "target"), ("as_other", "another class"))
    for number, (key, label) in enumerate(names):
        values = np.stack([np.interp(t, pair.t, getattr(pair, key)) for pair in audit.pairs])
        mean = values.mean(0)
        _line(axes, Curve(label, t, mean, mean, mean, series=(5, 3, 7)[number]), number)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    _dress(axes, "t: from the source class (0) to the target (1)", "share of predictions", percent=True)
    _legend(axes)
    return figure


def pair_values(pair: PairCurve) -> dict[str, float]:
    """The numbers of one pair that a matrix can show; accuracy is the mean over t, KL its highest value."""
    widths = np.diff(pair.t)
    middle = (pair.accuracy[1:] + pair.accuracy[:-1]) / 2
    mean = float((widths * middle).sum() / widths.sum()) if len(widths) else float(pair.accuracy[0])
    return {"total_variation": pair.total_variation, "accuracy": mean, "kl": float(pair.kl.max())}


def pair_matrix(
    audit: Audited, measure: str = "total_variation", scale: tuple[float, float] | None = None
) -> Figure:
    """A heat map of ``measure`` (total_variation, accuracy or kl), rows the source, columns the target.

    ``scale`` holds the values at the ends of the colours, so that several matrices can share them.
    """
    numbered = {n: name for p in audit.pairs for n, name in zip(p.numbers, (p.source, p.target))}
    classes = [numbered[number] for number in sorted(numbered)]
    place = {number: position for position, number in enumerate(sorted(numbered))}
    grid = np.full((len(classes), len(classes)), np.nan)
    for pair in audit.pairs:
        grid[place[pair.numbers[0]], place[pair.numbers[1]]] = pair_values(pair)[measure]
    low, high = scale or (float(np.nanmin(grid)), float(np.nanmax(grid)))
    figure = Figure(figsize=(WIDTH, WIDTH * 0.86), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(grid),
        cmap=colormaps["cividis_r" if measure == "accuracy" else "cividis"],
        norm=Normalize(low, max(high, low + 1e-9)),
        edgecolors=PAPER if len(classes) <= MANY_CLASSES else "none",
        lw=0.8,
        rasterized=len(classes) > MANY_CLASSES,
    )
    if len(classes) <= MANY_CLASSES:
        _label_cells(axes, grid, mesh)
    _label_classes(axes, classes)
    _colour_bar(figure, axes, mesh)
    return figure


def triangle_map(triangle: Triangle, scale: tuple[float, float] | None = None) -> Figure:
    """The KL over the triangle whose corners are three classes; ``scale`` as in :func:`pair_matrix`."""
    low, high = scale or (float(triangle.kl.min()), float(triangle.kl.max()))
    corners = np.array([(0, 0), (1, 0), (0.5, 3**0.5 / 2)])
    figure, axes = _one()
    across, up = (triangle.weights @ corners).T
    mesh = axes.tripcolor(
        across, up, triangle.kl, shading="gouraud", cmap=colormaps["cividis"], rasterized=True,
        norm=Normalize(low, max(high, low + 1e-9)),
    )  # fmt: skip
    for name, (x, y) in zip(triangle.classes, corners):
        above = y > 0
        axes.text(
            x, y + (0.04 if above else -0.04), _plain(name), ha="center", va="bottom" if above else "top",
            color=INK,
        )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()
    _colour_bar(figure, axes, mesh)
    return figure


def training_curves(
    metrics: Mapping[str, Sequence[Mapping[str, float]]], key: str, series: Mapping[str, int] | None = None
) -> Figure:
    """One number of metrics.jsonl over the epochs, one line per run that has it."""
    figure, axes = _one()
    for number, (label, lines) in enumerate(metrics.items()):
        points = [(line.get("epoch", i + 1), line[key]) for i, line in enumerate(lines) if key in line]
        if points:
            x, y = np.array(points, dtype=np.float64).T
            line = Curve(label, x, y, y, y, series=(series or {}).get(label))
            _line(axes, line, number, marker="o" if len(x) < 4 else "")
    _dress(axes, "epoch", _plain(key), percent="accuracy" in key)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.dataLim.intervalx
    if high - low < 1:  # a single epoch: else the axis would show fractions of it
        axes.set_xlim(low - 0.5, high + 0.5)
    _legend(axes)
    return figure


def _one() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    figure.patch.set_alpha(0)
    return figure, figure.add_subplot()


def _colour_bar(figure: Figure, axes: Axes, mesh: ScalarMappable) -> None:
    bar = figure.colorbar(mesh, ax=axes, shrink=0.9)
    bar.ax.tick_params(colors=INK, labelsize=9, length=0)
    bar.outline.set_visible(False)


def _line(axes: Axes, curve: Curve, number: int, marker: str = "") -> None:
    colour = SERIES[(number if curve.series is None else curve.series) % len(SERIES)]
    dash = DASHES[(number // len(SERIES) + number) % len(DASHES)]
    style: Literal["post"] | None = "post" if curve.stepped else None
    if not np.array_equal(curve.low, curve.high):
        axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.16, lw=0, step=style)
    axes.plot(
        curve.x,
        curve.y,
        color=colour,
        lw=2,
        linestyle=dash,
        marker=marker,
        markersize=4,
        label=_plain(curve.label),
        drawstyle="steps-post" if curve.stepped else "default",
    )


def _dress(axes: Axes, x: str, y: str, *, percent: bool = False) -> None:
    axes.patch.set_alpha(0)
    axes.set_xlabel(x, color=INK, fontsize=10)
    axes.set_ylabel(y, color=INK, fontsize=10)
    axes.grid(True, color=FAINT, lw=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelcolor=INK, labelsize=9, length=0, pad=6)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if percent:
        axes.yaxis.set_major_formatter(lambda value, position: f"{100 * value:.0f}%")


def _legend(axes: Axes) -> None:
    """Above the axes, so that it covers no line; as many columns as the names leave room for."""
    longest = max((len(label) for label in axes.get_legend_handles_labels()[1]), default=1)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=max(1, min(4, 64 // (longest + 7))),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        borderaxespad=0.2,
        handlelength=2.6,
    )


def _label_cells(axes: Axes, grid: Floats, mesh: QuadMesh) -> None:
    """A number in each cell; black or white, whichever stands out."""
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            red, green, blue, _ = mesh.to_rgba(np.asarray(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            colour = "#ffffff" if dark else "#000000"
            place = (column + 0.5, row + 0.5)
            axes.text(*place, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


def _label_classes(axes: Axes, classes: Sequence[str]) -> None:
    """Names along both sides; of very many classes only some."""
    every = -(-len(classes) // 20)
    names = [_plain(name) for name in classes[::every]]
    places = np.arange(len(classes))[::every] + 0.5
    axes.invert_yaxis()
    axes.set_xticks(places, names, rotation=0 if sum(map(len, names)) <= 40 else 60)
    axes.set_yticks(places, names)
    _dress(axes, "target class", "source class")
    axes.grid(False)


def _plain(label: str) -> str:
    """A name as it is: dollars are no mathematics, and a leading underscore hides nothing from a legend.

    Of a very long one the middle is left out, since the end often tells two runs apart.
    """
    if len(label) > LONGEST:
        label = f"{label[: LONGEST // 2]}…{label[-(LONGEST // 2) :]}"
    return ("\u2009" if label.startswith("_") else "") + label.replace("$", r"\$")
