"""The study's picture: theory as lines, simulation as dots with five standard errors, a panel for a part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "study_figure"]

BLUE, RED, GREEN, PINK, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f"
"""Told apart by colour-blind eyes too."""
Record = dict[str, Any]
COLUMNS = 3


def draw(record: Record, path: Path) -> None:
    """Write the picture; the same record gives the same file."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "wassermix"}):
        study_figure(record).savefig(path, metadata={"Date": None})


def study_figure(record: Record) -> Figure:
    """All parts of the study's record in the order of docs/theory.md, numbered."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(12.5, 14.5), layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.08))
    grid = figure.subplots(-(-len(PANELS) // COLUMNS), COLUMNS)
    for number, (axes, (name, panel)) in enumerate(zip(grid.flat, PANELS.items()), start=1):
        panel(axes, record[name])
        axes.set_title(f"{number}. {axes.get_title()}", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    return figure


def _both(axes: Axes, x: list[float], curve: Record, colour: str, label: str, *, every: int = 1) -> None:
    """Theory as a line, simulation as dots with five standard errors."""
    axes.plot(x, curve["theory"], color=colour, label=label)
    some = slice(None, None, every)
    bars = [5 * error for error in curve["error"][some]]
    axes.errorbar(x[some], curve["simulated"][some], yerr=bars, fmt="o", color=colour, markersize=3)


def _printed(axes: Axes, x: list[float], values: list[float], label: str) -> None:
    """What the paper prints where it is something else: dashed."""
    axes.plot(x, values, "--", color=GREY, label=label)


def _attacked(axes: Axes, found: Record) -> None:
    _both(axes, found["eps"], found["l2"], BLUE, "l2: Q(s - eps / sigma)")
    _both(axes, found["eps"], found["linf"], RED, "linf: eps |theta|_1 / |theta|_2")
    _printed(axes, found["eps"], found["linf_printed"], "linf as in the paper's proof: eps sqrt(d)")
    axes.set(title="Error under attack", xlabel="eps", ylabel="error")


def _smoothed(axes: Axes, found: Record) -> None:
    _both(axes, found["noise"], found["right"], BLUE, "sqrt(sigma^2 + sigma_s^2)")
    _printed(axes, found["noise"], found["printed"], "sigma + sigma_s, as printed")
    axes.set(title="Error under noise", xlabel="sigma_s", ylabel="error")


def _certified(axes: Axes, found: Record) -> None:
    curves = {"population, any noise": found["population"], **found["draws"]}
    for colour, (name, curve) in zip((GREY, BLUE, RED, GREEN), curves.items()):
        _both(axes, found["radius"], curve, colour, name, every=4)
    axes.set(title="Certified accuracy", xlabel="radius", ylabel="share of samples")


def _distance(axes: Axes, found: Record) -> None:
    _both(axes, found["length"], found["optimal"], BLUE, "W2 = 2 |mu|")
    _both(axes, found["length"], found["random"], RED, "random pairs: sqrt(4 |mu|^2 + 2 d sigma^2)")
    axes.set(title="Distance of the classes", xlabel="|mu| (d = sigma = 1)", ylabel="distance of partners")


def _mapped(axes: Axes, found: Record) -> None:
    _both(axes, found["x"], found["optimal"], BLUE, "optimal: x - 2 mu")
    _both(axes, found["x"], found["random"], RED, "random, on average: -mu")
    axes.set(title="Map to the other class", xlabel="x of class +1 (mu = sigma = 1)", ylabel="its partner")


def _along(axes: Axes, found: Record) -> None:
    _both(axes, found["t"], found["mean_optimal"], GREEN, "mean of y x: (1 - 2t) mu, any pairs")
    axes.plot(found["t"], found["mean_random"]["simulated"], "x", color=GREEN, markersize=7)
    _both(axes, found["t"], found["variance_optimal"], BLUE, "variance, optimal pairs: Sigma")
    _both(axes, found["t"], found["variance_random"], RED, "variance, random pairs: (1 - 2t(1-t)) Sigma")
    axes.set(title="Along the path", xlabel="t (mu = Sigma = 1; crosses: random pairs)", ylim=(-1.1, 1.2))


def _pairing(axes: Axes, found: Record) -> None:
    for colour, (points, spread) in zip((RED, BLUE, GREEN, PINK), found["exact"].items()):
        axes.plot(found["dims"], spread, "o-", color=colour, markersize=3, label=f"{points} points, exact")
    axes.axhline(1, color=GREY, label="optimal, infinitely many points")
    axes.axhline(found["random"], color=GREY, linestyle="--", label="random pairs")
    axes.set(title="Spread half-way, few points", xlabel="dimension", ylabel="variance at t = 1/2")
    axes.set(xscale="log", xticks=found["dims"], xticklabels=found["dims"], ylim=(0.1, 1.03))
    axes.minorticks_off()


def _ball(axes: Axes, found: Record) -> None:
    _both(axes, found["eps"], found["worst"], BLUE, "worst Gaussian: Q(kappa)")
    _both(axes, found["eps"], found["mean_shift"], GREY, "means moved alone, as printed: Q(|mu| - eps)")
    axes.set(title="Worst case in a W2 ball", xlabel="eps (|mu| = sigma = 1)", ylabel="error")


def _augmented(axes: Axes, found: Record) -> None:
    axes.axhline(1, color=GREY, linestyle="--")
    for colour, (r, curve) in zip((RED, PINK, GREEN, BLUE), found["shrinkage"].items()):
        _both(axes, found["ratio"], curve, colour, f"r = {float(r):.2f}")
        if float(r) < 0.4:
            axes.plot(*curve["worst"], "v", color=colour, markersize=9)
            axes.plot(curve["break_even"], 1, "^", color=colour, markersize=9)
    axes.plot([], [], "v", color=GREY, label="worst m: (1 - 2r) / r")
    axes.plot([], [], "^", color=GREY, label="break-even m: (1 - 2r) / r^2")
    axes.set(title="What augmentation is worth", xlabel="m, augmented for each real one")
    axes.set(ylabel="effective / real samples", xscale="log", yscale="log")


def _linear(axes: Axes, found: Record) -> None:
    _both(axes, found["weight"], found["reg"], GREEN, "Reg = 2 |theta' mu|")
    _both(axes, found["weight"], found["length"], BLUE, "|theta| = |mu| / (lambda2 + 4 lambda1 |mu|^2)")
    _printed(axes, found["weight"], found["length_printed"], "|theta| as printed, without the 4")
    _both(axes, found["weight"], found["error"], RED, "error of its classifier: the same for all")
    axes.set(title="Regulariser of a linear loss", xlabel=f"lambda1 (lambda2 = {found['decay']:g})")


def _regularized(axes: Axes, found: Record) -> None:
    _both(axes, found["scale"], found["ce"], RED, "cross-entropy", every=4)
    _both(axes, found["scale"], found["kl"], BLUE, "KL", every=4)
    axes.axvline(1, color=GREY, linestyle=":", label="the true posterior")
    axes.axhline(found["calibrated"]["ce"], color=GREY, linestyle="--", linewidth=0.8, label="2 log 2")
    axes.set(title="Regulariser of a logistic classifier", xlabel="scale of its logits (0: constant)")
    axes.set(ylabel="Reg", ylim=(0, 1.3 * max(found["ce"]["theory"])))


def _theorem(axes: Axes, found: Record) -> None:
    _printed(axes, found["n1"], found["printed"], "lower bound as printed")
    axes.plot(found["n1"], found["needed_by_proof"], ":", color=RED, label="factor that the proof needs")
    bars = [5 * error for error in found["error"]]
    axes.errorbar(
        found["n1"], found["simulated"], yerr=bars, fmt="o", color=BLUE, markersize=3, label="simulated"
    )
    first = found["n1"][found["conditions"].index(True)]
    axes.axvspan(first, found["n1"][-1], color=GREY, alpha=0.15, label="conditions hold")
    setting = (
        f"d = {found['dim']}, |mu| = {found['length']:g}, n0 = {found['n0']}, r = {found['shrinkage']:g}"
    )
    axes.set(title="Probability of no harm", xlabel=f"n1 ({setting})", xscale="log")


PANELS = {
    "attacked": _attacked,
    "smoothed": _smoothed,
    "certified": _certified,
    "distance": _distance,
    "mapped": _mapped,
    "along": _along,
    "pairing": _pairing,
    "ball": _ball,
    "augmented": _augmented,
    "linear": _linear,
    "regularized": _regularized,
    "theorem": _theorem,
}
