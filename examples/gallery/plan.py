"""Who goes where: an entropic plan and the exact one.

Two clouds of points. The exact plan joins each point with one partner; entropy spreads it over neighbours.
"""

import torch
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """Draw both plans as lines whose strength is the mass that travels."""
    g = torch.Generator().manual_seed(0)
    z0 = torch.randn(30, 2, generator=g) * 0.4
    z1 = torch.randn(30, 2, generator=g) * 0.4 + torch.tensor([2.0, 0.7])
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    plans = {
        "exact": wm.solve_exact(z0, z1).plan,
        "entropy 0.05": wm.solve_coupling(z0, z1, entropy=0.05).plan,
    }
    for axes, (name, plan) in zip(figure.subplots(1, 2, sharey=True), plans.items()):
        for i, j in (plan > 1e-3 / 30).nonzero().tolist():
            line = torch.stack([z0[i], z1[j]])
            axes.plot(
                line[:, 0], line[:, 1], color="0.5", alpha=min(1.0, float(30 * plan[i, j])), linewidth=0.8
            )
        axes.scatter(*z0.T, color="tab:blue", zorder=2)
        axes.scatter(*z1.T, color="tab:orange", zorder=2)
        axes.set(title=name, aspect="equal")
    return figure
