"""A model: a class or function that takes what it needs of ``shape`` and ``num_classes``."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RingNet(nn.Module):
    """A network that sees the distance from the centre beside the two coordinates."""

    def __init__(self, shape: tuple[int, ...], num_classes: int, *, width: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(shape[0] + 1, width), nn.ReLU(), nn.Linear(width, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(n, num_classes)`` of points ``(n, 2)``."""
        return self.layers(torch.cat([x, x.norm(dim=1, keepdim=True)], dim=1))
