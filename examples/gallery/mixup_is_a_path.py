"""Mixup is a geodesic with random partners.

Both move points of one class towards another. Optimal partners keep the cloud's shape half-way; random
partners pull it together: its variance falls to a half.
"""

import torch
from matplotlib.figure import Figure

import wassermix as wm


def main() -> Figure:
    """The cloud half-way, by optimal and by random pairs."""
    g = torch.Generator().manual_seed(1)
    x0 = torch.randn(300, 2, generator=g) * torch.tensor([0.3, 1.0])
    x1 = torch.randn(300, 2, generator=g) * torch.tensor([0.3, 1.0]) + torch.tensor([4.0, 0.0])
    coupling = wm.solve_exact(x0, x1)
    halves = {"optimal pairs": (x0 + coupling.push(x1)) / 2, "random pairs (mixup)": (x0 + x1) / 2}
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, (name, half) in zip(figure.subplots(1, 2, sharey=True), halves.items()):
        for cloud, colour in ((x0, "tab:blue"), (x1, "tab:orange"), (half, "tab:green")):
            axes.scatter(*cloud.T, s=6, color=colour)
        axes.set(title=f"{name}: variance upwards {half[:, 1].var():.2f}")
    return figure
