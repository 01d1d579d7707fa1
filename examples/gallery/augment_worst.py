"""New samples where the model is worst.

The augmenter searches the time on each path at which the current model does badly, and returns samples there
with soft labels.
"""

import torch
from matplotlib.figure import Figure
from torch import nn

import wassermix as wm


def main() -> Figure:
    """Two classes, a linear classifier that is slightly off, and the samples it would be trained on next."""
    g = torch.Generator().manual_seed(0)
    y = torch.arange(200) % 2
    x = torch.randn(200, 2, generator=g) * 0.5 + torch.where(y[:, None] == 1, 1.5, -1.5) * torch.tensor(
        [1.0, 0.3]
    )
    net = nn.Linear(2, 2)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[-1.0, 0.8], [1.0, -0.8]]))
        net.bias.zero_()
    augment = wm.GeodesicAugmenter(num_classes=2, embed=wm.Pixel().fit(x), pair_size=32, t_max=0.5)
    new, soft = augment(x, y, model=net, generator=g)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*x.T, c=y, cmap="coolwarm", s=10, alpha=0.4)
    axes.scatter(*new.T, c=soft[:, 1], cmap="coolwarm", s=16, edgecolors="black", linewidths=0.4)
    axes.axline((0, 0), slope=1.25, color="black", linewidth=1)
    axes.set(title="new samples (ringed) and the model's boundary", aspect="equal")
    return figure
