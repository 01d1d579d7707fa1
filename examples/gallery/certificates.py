"""What is proved: certified accuracy over the radius.

A linear classifier on two Gaussians, smoothed with three noises. More noise reaches farther and
costs accuracy near zero.
"""

import torch
from matplotlib.figure import Figure
from torch import nn

import wassermix as wm


def main() -> Figure:
    """Certified accuracy for three noise levels."""
    g = torch.Generator().manual_seed(0)
    y = torch.arange(120) % 2
    x = torch.randn(120, 4, generator=g) * 0.5 + torch.where(y[:, None] == 1, 0.5, -0.5)
    net = nn.Linear(4, 2)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4]))
        net.bias.zero_()
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for sigma in (0.25, 0.5, 1.0):
        found = wm.certify(net, x, y, sigma=sigma, n=1000)
        right = found.predicted == y
        radii = torch.linspace(0, 2.5, 60)
        shares = [float(((found.radius >= float(r)) & right).float().mean()) for r in radii]
        axes.plot(radii, shares, label=f"sigma {sigma}")
    axes.set(xlabel="l2 radius", ylabel="certified accuracy", ylim=(0, 1))
    axes.legend(frameon=False)
    return figure
