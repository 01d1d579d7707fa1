"""Noise corruptions of images ``(n, C, H, W)`` in [0, 1] at strengths 1 to 3."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise"]


def gaussian_noise(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """``x + sigma e``, ``e`` standard normal, clipped to [0, 1]."""
    sigma = (0.12, 0.25, 0.45)[strength - 1]
    return (x + sigma * torch.randn(x.shape, generator=generator)).clamp(0, 1)


def shot_noise(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Photon counts: ``Poisson(c x) / c``, fewer photons ``c`` for more noise, clipped to [0, 1]."""
    photons = (20.0, 6.0, 2.0)[strength - 1]
    return (torch.poisson(x.clamp_min(0) * photons, generator=generator) / photons).clamp(0, 1)


def impulse_noise(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Salt and pepper: a share of the values replaced by 0 or 1."""
    share = (0.05, 0.15, 0.35)[strength - 1]
    hit = torch.rand(x.shape, generator=generator) < share
    salt = (torch.rand(x.shape, generator=generator) < 0.5).to(x.dtype)
    return torch.where(hit, salt, x)
