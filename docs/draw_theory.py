"""docs/theory.svg (theory as lines, simulation as dots) and the table of numbers in docs/theory.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from page import fill

BLUE, RED, GREEN, PINK, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f"
Record = dict[str, Any]


def draw(record: Record, docs: Path) -> None:
    """All panels in the order of docs/theory.md."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"  # the same record gives the same file
    figure = Figure(figsize=(15, 7.4), layout="constrained")
    panels = (attacked, smoothed, certified, ball, augmented, pairing, regularized, theorem)
    for number, (axes, panel) in enumerate(zip(figure.subplots(2, 4).flat, panels), start=1):
        panel(axes, record[panel.__name__])
        axes.set_title(f"{number}. {axes.get_title()}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(docs / "theory.svg", metadata={"Date": None})
    fill(docs / "theory.md", "numbers", numbers(record))


def numbers(record: Record) -> list[str]:
    """The numbers that the page's sentences rest on, as a table."""
    ball, spread, reg, proof = (record[key] for key in ("ball", "pairing", "regularized", "theorem"))
    at, best = nearest(ball["eps"], 0.5), nearest(reg["kl"], min(reg["kl"]))
    true = nearest(reg["scale"], 1.0)
    last = len(proof["n1"]) - 1
    rows = [
        ("theory against simulation", record["summary"][0]),
        (
            f"worst error in the ball, eps = {ball['eps'][at]:.2f}, \\|mu\\| = sigma = 1",
            f"{ball['worst']['theory'][at]:.4f}, simulated {ball['worst']['simulated'][at]:.4f} "
            f"(+- {ball['worst']['error'][at]:.4f}); the paper {ball['mean_shift'][at]:.4f}",
        ),
        *(
            (
                f"effective share of real samples at r = {float(r):.2f}, m = 1 and 32",
                f"{curve['theory'][1]:.3f} and {curve['theory'][-1]:.2f}, "
                f"simulated {curve['simulated'][1]:.3f} and {curve['simulated'][-1]:.2f}",
            )
            for r, curve in record["augmented"]["shrinkage"].items()
        ),
        *(
            (
                f"spread half-way in {spread['dims'][-1]} dimensions, {points} points, exact pairing",
                f"{values[-1]:.3f} (random pairs {spread['random']:.2f})",
            )
            for points, values in spread["exact"].items()
        ),
        ("change of the theorem's sum by the pairing", f"{spread['sum_changes_by']:.0e}"),
        (
            "Reg of a constant, of the true posterior and of calibrated labels, cross-entropy",
            f"{reg['ce'][0]:.3f}, {reg['ce'][true]:.3f}, {reg['calibrated']['ce']:.3f}",
        ),
        (
            "the same, KL",
            f"{reg['kl'][0]:.3f}, {reg['kl'][true]:.3f}, {reg['calibrated']['kl']:.3f}; "
            f"least at scale {reg['scale'][best]:.2f}",
        ),
        (
            f"theorem at n1 = {proof['n1'][last]}",
            f"printed bound {proof['printed'][last]:.3f}, simulated {proof['simulated'][last]:.3f} "
            f"(+- {proof['error'][last]:.3f}), factor of the proof {proof['needed_by_proof'][last]:.0e}",
        ),
    ]
    return ["| quantity | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]


def nearest(values: list[float], wanted: float) -> int:
    """Index of the value nearest to ``wanted``."""
    return min(range(len(values)), key=lambda i: abs(values[i] - wanted))


def both(axes: Axes, x: list[float], curve: Record, colour: str, label: str) -> None:
    """Theory as a line, simulation as dots with five standard errors."""
    axes.plot(x, curve["theory"], color=colour, label=label)
    bars = [5 * error for error in curve["error"]] if "error" in curve else None
    axes.errorbar(x, curve["simulated"], yerr=bars, fmt="o", color=colour, markersize=3)


def attacked(axes: Axes, found: Record) -> None:
    """Errors under attack."""
    both(axes, found["eps"], found["l2"], BLUE, "l2")
    both(axes, found["eps"], found["linf"], RED, "linf")
    axes.plot(found["eps"], found["linf_printed"], "--", color=GREY, label="linf as in the paper's proof")
    axes.set(title="Error under attack", xlabel="eps", ylabel="error")


def smoothed(axes: Axes, found: Record) -> None:
    """The error under noise."""
    both(axes, found["noise"], found["right"], BLUE, "sqrt(sigma^2 + sigma_s^2)")
    axes.plot(found["noise"], found["printed"], "--", color=GREY, label="sigma + sigma_s, as printed")
    axes.set(title="Error under noise", xlabel="sigma_s", ylabel="error")


def certified(axes: Axes, found: Record) -> None:
    """Certified accuracy."""
    every = slice(None, None, 4)
    curves = {"population, any noise": found["population"], **found["draws"]}
    for colour, (name, curve) in zip((GREY, BLUE, RED, GREEN), curves.items()):
        axes.plot(found["radius"], curve["theory"], color=colour, label=name)
        axes.plot(found["radius"][every], curve["simulated"][every], "o", color=colour, markersize=3)
    axes.set(title="Certified accuracy", xlabel="radius", ylabel="share of samples")


def ball(axes: Axes, found: Record) -> None:
    """The worst Gaussians."""
    both(axes, found["eps"], found["worst"], BLUE, "worst Gaussian, Q(kappa)")
    axes.plot(found["eps"], found["mean_shift"], "--", color=GREY, label="means moved alone, as printed")
    axes.set(title="Worst case in a W2 ball", xlabel="eps (|mu| = sigma = 1)", ylabel="error")


def augmented(axes: Axes, found: Record) -> None:
    """What augmented samples are worth."""
    for colour, (r, curve) in zip((RED, PINK, GREEN, BLUE), found["shrinkage"].items()):
        both(axes, found["ratio"], curve, colour, f"r = {float(r):.2f}")
    axes.axhline(1, color=GREY, linestyle="--")
    axes.set(title="What augmentation is worth", xlabel="m, augmented for each real one")
    axes.set(ylabel="effective / real samples", xscale="log", yscale="log")


def pairing(axes: Axes, found: Record) -> None:
    """The spread half-way."""
    for colour, (points, spread) in zip((RED, BLUE, GREEN, PINK), found["exact"].items()):
        axes.plot(found["dims"], spread, "o-", color=colour, markersize=3, label=f"{points} points, exact")
    axes.axhline(1, color=GREY, label="optimal, infinitely many points")
    axes.axhline(found["random"], color=GREY, linestyle="--", label="random pairs")
    axes.set(title="Spread half-way", xlabel="dimension", ylabel="variance at t = 1/2", xscale="log")


def regularized(axes: Axes, found: Record) -> None:
    """Whom the regulariser rewards."""
    axes.plot(found["scale"], found["ce"], color=RED, label="cross-entropy, as printed")
    axes.plot(found["scale"], found["kl"], color=BLUE, label="KL")
    axes.axvline(1, color=GREY, linestyle=":", label="the true posterior")
    axes.set(title="Regulariser of a logistic classifier", xlabel="scale of its logits (0: constant)")
    axes.set(ylabel="Reg", ylim=(0, None))


def theorem(axes: Axes, found: Record) -> None:
    """The theorem's probability."""
    axes.plot(found["n1"], found["printed"], "--", color=GREY, label="lower bound as printed")
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
