"""Theory beside simulation: the error of a linear classifier under noise.

Two Gaussian classes and the classifier through their means: the closed form with variances added, and what a
simulation counts.
"""

import torch
from matplotlib.figure import Figure
from scipy.stats import norm


def main() -> Figure:
    """Accuracy under smoothing noise, predicted and counted."""
    g = torch.Generator().manual_seed(0)
    mean, sigma, noises = 1.0, 0.7, torch.linspace(0, 2, 9)
    x = mean + sigma * torch.randn(20_000, generator=g)
    counted = [float((x + s * torch.randn(len(x), generator=g) > 0).float().mean()) for s in noises]
    fine = torch.linspace(0, 2, 100)
    predicted = norm.cdf(mean / (sigma**2 + fine.numpy() ** 2) ** 0.5)
    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(fine, predicted, label="closed form")
    axes.plot(noises, counted, "o", label="20,000 samples")
    axes.set(xlabel="smoothing noise", ylabel="accuracy")
    axes.legend(frameon=False)
    return figure
