"""Drifts of tables ``(n, d)`` at strengths 1 to 3, in units of each column's standard deviation."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["column_noise", "dropout", "gain", "offset"]


def gain(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """A third of the columns measured in another scale: deviations from the mean multiplied by a factor."""
    factor = (1.4, 2.0, 3.0)[strength - 1]
    mean = x.mean(dim=0)
    hit = _columns(x, 1 / 3, generator)
    return torch.where(hit, mean + factor * (x - mean), x)


def offset(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """A third of the columns moved up or down by a constant."""
    size = (0.4, 0.9, 1.8)[strength - 1]
    sign = torch.where(torch.rand(x.shape[1], generator=generator) < 0.5, -1.0, 1.0)
    return x + _columns(x, 1 / 3, generator) * sign * size * _spread(x)


def dropout(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Entries lost at random and filled with the column's mean, as an imputer does."""
    share = (0.15, 0.35, 0.6)[strength - 1]
    lost = torch.rand(x.shape, generator=generator) < share
    return torch.where(lost, x.mean(dim=0), x)


def column_noise(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Independent measurement noise on every entry."""
    sigma = (0.4, 0.9, 1.8)[strength - 1]
    return x + sigma * _spread(x) * torch.randn(x.shape, generator=generator)


def _spread(x: Tensor) -> Tensor:
    return x.std(dim=0, correction=0)


def _columns(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A random ``share`` of the columns, at least one, as a mask ``(d,)``."""
    chosen = torch.randperm(x.shape[1], generator=generator)[: max(1, round(share * x.shape[1]))]
    return torch.zeros(x.shape[1], dtype=torch.bool).index_fill(0, chosen, True)
