"""The model between its classes: the performance geodesic.

Loss and decisions on samples that optimal transport carries from one class to another, for a small network on
two interleaved half circles.
"""

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import nn

import wassermix as wm


def main() -> Figure:
    """Train for a moment, then audit."""
    g = torch.Generator().manual_seed(0)
    y = torch.arange(400) % 3
    angle = 2 * torch.pi * (y / 3 + 0.28 * torch.rand(400, generator=g))
    x = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.1 * torch.randn(400, 2, generator=g)
    net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    return wm.performance_geodesic(net, x, y, points=15).plot()
