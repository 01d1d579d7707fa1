"""Figures of an audit, drawn without a display."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from wassermix.audit.result import PerformanceGeodesic, PerformanceSimplex

__all__ = ["plot_performance", "plot_simplex"]


def plot_performance(audit: PerformanceGeodesic) -> Figure:
    """Loss over t for each pair and their mean; who is decided for; which pairs are weakest."""
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    losses, shares, weak = figure.subplots(1, 3)
    mean = audit.mean()
    for pair in audit.pairs:
        losses.plot(pair.t, pair.kl, color="tab:blue", alpha=0.15, linewidth=1)
    losses.plot(mean["t"], mean["kl"], color="tab:blue", linewidth=2, label="KL, mean of pairs")
    losses.plot(mean["t"], mean["loss"], color="tab:orange", linewidth=2, label="cross-entropy, mean")
    losses.set(xlabel="t", ylabel="loss", title="Performance geodesic")
    losses.legend(frameon=False)
    for key, name in (("as_source", "source"), ("as_target", "target"), ("as_other", "other")):
        shares.plot(mean["t"], mean[key], label=f"decided as {name}")
    shares.set(xlabel="t", ylabel="share", ylim=(0, 1), title="Decisions, mean of pairs")
    shares.legend(frameon=False)
    image = weak.imshow(audit.matrix("kl").numpy(), cmap="viridis")
    weak.set(xlabel="class", ylabel="class", title="KL between classes, 0.25 <= t <= 0.75")
    figure.colorbar(image, ax=weak)
    return figure


def plot_simplex(audit: PerformanceSimplex) -> Figure:
    """The KL over the triangle of three classes, whose corners are the classes."""
    figure = Figure(figsize=(5, 4.4), layout="constrained")
    axes = figure.subplots()
    across = [w[1] + w[2] / 2 for w in audit.weights]
    up = [w[2] * 3**0.5 / 2 for w in audit.weights]
    shown = axes.tricontourf(across, up, audit.kl, levels=16, cmap="viridis")
    for number, corner in zip(audit.classes, ((0, -0.05), (1, -0.05), (0.5, 3**0.5 / 2 + 0.05))):
        name = audit.class_name(number).replace("$", r"\$")  # a name is no formula
        axes.annotate(name, corner, fontsize=12, ha="center", va="center", annotation_clip=False)
    axes.set(title="KL between three classes", aspect="equal")
    axes.set_axis_off()
    figure.colorbar(shown, ax=axes)
    return figure
