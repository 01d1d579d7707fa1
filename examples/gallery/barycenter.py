"""The mean of two distributions, not of their densities.

A Wasserstein barycenter moves mass; averaging densities only fades one into the other. The debiased form does
not blur.
"""

import torch
from matplotlib.figure import Figure

from wassermix.transport import grid_barycenter


def main() -> Figure:
    """Two bumps on a line, their average, and their barycenter with and without debiasing."""
    grid = torch.linspace(-5, 5, 300, dtype=torch.float64)
    bumps = torch.stack([torch.exp(-((grid - m) ** 2) / (2 * s**2)) for m, s in ((-2.0, 0.4), (2.0, 0.8))])
    bumps = bumps / bumps.sum(dim=1, keepdim=True)
    weights = torch.tensor([0.5, 0.5], dtype=torch.float64)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(grid, bumps.T, color="0.7")
    axes.plot(grid, bumps.mean(dim=0), "--", color="tab:red", label="average of densities")
    for debiased, colour in ((False, "tab:orange"), (True, "tab:blue")):
        middle = grid_barycenter(bumps, weights, entropy=0.02, axes=[grid], debiased=debiased).histogram
        axes.plot(grid, middle, color=colour, label=f"barycenter, {'debiased' if debiased else 'entropic'}")
    axes.legend(frameon=False)
    return figure
