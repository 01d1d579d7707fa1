"""Blurs of images ``(n, C, H, W)`` in [0, 1] at strengths 1 to 3; widths grow with the image's side."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.drift.shifts.warp import affine, shifted_pixels

__all__ = ["convolved", "defocus_blur", "glass_blur", "motion_blur", "smoothing_kernel", "zoom_blur"]


def defocus_blur(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """The mean over a disk, as a lens out of focus makes it."""
    radius = max((0.05, 0.08, 0.12)[strength - 1] * min(x.shape[2:]), (0.6, 0.8, 1.0)[strength - 1])
    half = max(1, math.ceil(radius))
    offsets = torch.arange(-half, half + 1, dtype=torch.float32)
    distance = (offsets[:, None].square() + offsets[None].square()).sqrt()
    return convolved(x, (radius + 0.5 - distance).clamp(0, 1))


def glass_blur(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Pixels swapped with random neighbours, then smoothed: what a ribbed pane does."""
    reach, rounds = ((1, 1), (1, 2), (2, 2))[strength - 1]
    for _ in range(rounds):
        size = (len(x), 2, *x.shape[2:])
        x = shifted_pixels(x, torch.randint(-reach, reach + 1, size, generator=generator).to(x.dtype))
    return convolved(x, smoothing_kernel(0.5))


def motion_blur(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """The mean along a line of random direction, one for each image."""
    length = (0.12, 0.22, 0.36)[strength - 1] * min(x.shape[2:])
    angle = torch.rand(len(x), generator=generator) * math.pi
    way = torch.stack([angle.cos(), angle.sin()], dim=1)
    steps = torch.linspace(-0.5, 0.5, 7) * length
    moved = [affine(x, shift=step * way) for step in steps]
    return torch.stack(moved).mean(dim=0)


def zoom_blur(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """The mean over magnifications from 1 up, as when zooming during exposure."""
    most = (1.2, 1.45, 1.8)[strength - 1]
    ones = torch.ones(len(x))
    return torch.stack([affine(x, scale=ones * s) for s in torch.linspace(1, most, 7)]).mean(dim=0)


def smoothing_kernel(sigma: float) -> Tensor:
    """A Gaussian kernel ``(2h+1, 2h+1)`` cut at two standard deviations."""
    half = max(1, math.ceil(2 * sigma))
    weights = torch.exp(-torch.arange(-half, half + 1).float().square() / (2 * sigma**2))
    return weights[:, None] * weights[None]


def convolved(x: Tensor, kernel: Tensor) -> Tensor:
    """Each channel convolved with ``kernel`` (scaled to sum 1), the border repeated."""
    n, channels, height, width = x.shape
    half = kernel.shape[0] // 2
    flat = F.pad(x.reshape(n * channels, 1, height, width), [half] * 4, mode="replicate")
    return F.conv2d(flat, (kernel / kernel.sum())[None, None].to(x)).reshape(x.shape)
