"""Digital corruptions of images ``(n, C, H, W)`` in [0, 1] at strengths 1 to 3."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.drift.shifts.blur import convolved, smoothing_kernel
from wassermix.drift.shifts.warp import shifted_pixels

__all__ = ["contrast", "elastic", "jpeg", "pixelate"]

LUMINANCE = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip
"""The JPEG standard's example table of quantisation steps."""


def contrast(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Values pulled towards the image's mean."""
    keep = (0.5, 0.25, 0.12)[strength - 1]
    mean = x.mean(dim=(2, 3), keepdim=True)
    return mean + keep * (x - mean)


def elastic(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Pixels displaced by a smooth random field, as if printed on rubber."""
    side = min(x.shape[2:])
    reach = (0.03, 0.06, 0.1)[strength - 1] * side
    field = torch.rand((len(x), 2, *x.shape[2:]), generator=generator) * 2 - 1
    smooth = convolved(field, smoothing_kernel(max(0.8, side / 9)))
    spread = smooth.square().mean(dim=(1, 2, 3), keepdim=True).sqrt().clamp_min(1e-6)
    return shifted_pixels(x, smooth / spread * reach)


def pixelate(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """Averaged down to fewer pixels and blown up again."""
    share = (0.6, 0.4, 0.25)[strength - 1]
    small = [max(2, round(share * side)) for side in x.shape[2:]]
    return F.interpolate(F.interpolate(x, small, mode="area"), x.shape[2:], mode="nearest")


def jpeg(x: Tensor, strength: int, generator: torch.Generator) -> Tensor:
    """JPEG's loss on every channel alone: cosine coefficients of 8x8 blocks, quantised (no chroma step)."""
    quality = (25, 10, 4)[strength - 1]
    table = torch.tensor(LUMINANCE, dtype=torch.float32).reshape(8, 8)
    steps = (table * (5000 / quality) / 100).clamp(1, 255) / 255
    n, channels, height, width = x.shape
    padded = F.pad(x.reshape(-1, 1, height, width), (0, -width % 8, 0, -height % 8), mode="replicate")
    blocks = padded.unfold(2, 8, 8).unfold(3, 8, 8) - 0.5
    basis = _cosines()
    levels = (basis @ blocks @ basis.T / steps).round() * steps
    rows = (basis.T @ levels @ basis + 0.5).permute(0, 1, 2, 4, 3, 5)
    whole = rows.reshape(n, channels, *padded.shape[2:])
    return whole[..., :height, :width].clamp(0, 1)


def _cosines() -> Tensor:
    """The orthonormal cosine basis ``(8, 8)``."""
    k = torch.arange(8.0)
    basis = torch.cos(math.pi * k[:, None] * (2 * k[None] + 1) / 16) / 2
    basis[0] /= math.sqrt(2)
    return basis
