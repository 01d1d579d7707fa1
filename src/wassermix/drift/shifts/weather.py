"""Weather and light on images ``(n, C, H, W)`` in [0, 1] at strengths 1 to 3, from synthetic textures."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.drift.shifts.blur import motion_blur

__all__ = ["brightness", "fog", "frost", "snow"]


def snow(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """White flakes, smeared by the wind, over an image that the light has paled."""
    share, pale = ((0.02, 0.05), (0.05, 0.12), (0.1, 0.2))[strength - 1]
    flakes = (torch.rand((len(x), 1, *x.shape[2:]), generator=generator) < share).to(x.dtype)
    smeared = (motion_blur(flakes, 1, generator) * 3).clamp(0, 1)
    return torch.maximum(x + pale * (1 - x), smeared)


def frost(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Patches of bright crystals in front of a dimmed image."""
    dim, cover = ((0.9, 0.35), (0.75, 0.55), (0.6, 0.75))[strength - 1]
    rough = clouds(x, 0.35, generator)
    crystals = (2.5 * (rough - 0.6)).clamp(0, 1)
    return (dim * x + cover * crystals).clamp(0, 1)


def fog(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Smooth bright clouds mixed over the image: ``(x + a clouds) / (1 + a)``."""
    thick = (0.5, 1.2, 2.5)[strength - 1]
    return (x + thick * clouds(x, 0.7, generator)) / (1 + thick)


def brightness(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Everything lighter by a constant, clipped to [0, 1]."""
    return (x + (0.15, 0.35, 0.55)[strength - 1]).clamp(0, 1)


def clouds(x: Tensor, decay: float, generator: torch.Generator) -> Tensor:
    """Random textures ``(n, 1, H, W)`` in [0, 1]: noise at doubling scales, finer ones weaker."""
    height, width = x.shape[2:]
    total, size, weight = torch.zeros(len(x), 1, height, width), 2, 1.0
    while size <= max(height, width):
        coarse = torch.rand((len(x), 1, size, size), generator=generator)
        total += weight * F.interpolate(coarse, (height, width), mode="bilinear", align_corners=False)
        size, weight = 2 * size, weight * (1 - decay)
    low, high = total.amin((2, 3), keepdim=True), total.amax((2, 3), keepdim=True)
    return (total - low) / (high - low).clamp_min(1e-6)
