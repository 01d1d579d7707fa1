"""Geometric shifts of images ``(n, C, H, W)`` at strengths 1 to 3: one direction for the whole set."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wassermix.drift.shifts.warp import affine

__all__ = ["rotation", "scale", "translation"]


def rotation(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """All images turned by the same angle: 15, 30 or 50 degrees."""
    angle = math.radians((15, 30, 50)[strength - 1])
    return affine(x, angle=torch.full((len(x),), angle))


def scale(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """All images shrunk by the same factor: 0.85, 0.7 or 0.55."""
    return affine(x, scale=torch.full((len(x),), (0.85, 0.7, 0.55)[strength - 1]))


def translation(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """All images moved right and down by the same share of the side: 6, 12 or 20 per cent each."""
    share = (0.06, 0.12, 0.2)[strength - 1]
    step = torch.tensor([share * x.shape[3], share * x.shape[2]])
    return affine(x, shift=step.expand(len(x), 2))
