"""The augmenter and the smoothness term in a training loop of your own, with a loader of your own.

Run with ``python examples/own_loop.py``.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import wassermix as wm


def two_moons(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two interleaved half circles."""
    y = torch.arange(n) % 2
    angle = torch.pi * torch.rand(n, generator=generator)
    x = torch.stack([angle.cos() + y, (1 - 2 * y) * angle.sin() + 0.3 * y], dim=1)
    return x + 0.15 * torch.randn(n, 2, generator=generator), y


def main(epochs: int = 15) -> float:
    """Train a small network; returns its accuracy on fresh points under noise."""
    generator = torch.Generator().manual_seed(0)
    x, y = two_moons(256, generator)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, generator=generator)
    net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    augment = wm.GeodesicAugmenter(num_classes=2, embed=wm.Standard().fit(x), mode="online", t_max=0.3)
    smooth = wm.GeodesicSmoothness(weight=0.1)

    for _ in range(epochs):
        for batch, labels in loader:
            new, soft = augment(batch, labels, model=net, generator=generator)
            loss = F.cross_entropy(net(batch), labels) + F.cross_entropy(net(new), soft)
            loss = loss + smooth.loss(net, batch, labels, embed=augment.embed, generator=generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    x_test, y_test = two_moons(2000, generator)
    noisy = x_test + 0.2 * torch.randn(x_test.shape, generator=generator)
    with torch.no_grad():
        return float((net(noisy).argmax(dim=1) == y_test).float().mean())


if __name__ == "__main__":
    print(f"accuracy under noise: {main():.3f}")
