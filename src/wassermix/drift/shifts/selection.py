"""Shifts that choose other samples instead of changing them: rows ``(m,)`` of a pool, strengths 1 to 3."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["few_classes", "one_class", "subsample"]


def few_classes(x: Tensor, y: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Label shift: the lower half of the classes kept at 1/2, 1/5 or 1/20 of their share."""
    keep = (0.5, 0.2, 0.05)[strength - 1]
    rare = y < (int(y.max()) + 1) // 2
    return _kept(torch.where(rare, keep, 1.0), generator)


def one_class(x: Tensor, y: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Label shift: one random class grows; the others are kept at 2/3, 1/3 or 1/8 of their share."""
    keep = (2 / 3, 1 / 3, 1 / 8)[strength - 1]
    grown = int(torch.randint(int(y.max()) + 1, (1,), generator=generator))
    return _kept(torch.where(y == grown, 1.0, keep), generator)


def subsample(x: Tensor, y: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Covariate drift: samples far along a random direction of the inputs are seen less and less often."""
    flat = x.reshape(len(x), -1)
    flat = (flat - flat.mean(0)) / flat.std(0, correction=0).clamp_min(1e-6)
    along = flat @ torch.randn(flat.shape[1], generator=generator)
    rank = along.argsort().argsort() / len(x)
    return _kept((1 - rank) ** (0.7, 1.5, 3.0)[strength - 1], generator)


def _kept(chance: Tensor, generator: torch.Generator) -> Tensor:
    """Rows kept with these chances, in their order; at least two."""
    drawn = torch.rand(len(chance), generator=generator)
    rows = (drawn < chance).nonzero()[:, 0]
    return rows if len(rows) > 1 else (chance - drawn).topk(2).indices.sort().values
