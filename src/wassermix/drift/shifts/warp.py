"""Moving pixels: the sampling grids behind rotations, zooms and displacement fields."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["affine", "shifted_pixels"]


def affine(
    x: Tensor, *, angle: Tensor | None = None, scale: Tensor | None = None, shift: Tensor | None = None
) -> Tensor:
    """Images turned by ``angle (n,)`` radians, magnified by ``scale (n,)``, moved by ``shift (n, 2)`` pixels.

    Bilinear; what comes from outside is 0.
    """
    angle = torch.zeros(len(x)) if angle is None else angle
    scale = torch.ones(len(x)) if scale is None else scale
    shift = torch.zeros(len(x), 2) if shift is None else shift
    sides = torch.tensor([x.shape[3], x.shape[2]], dtype=torch.float32)
    cos, sin = angle.cos() / scale, angle.sin() / scale
    matrix = torch.stack([torch.stack([cos, sin], 1), torch.stack([-sin, cos], 1)], 1)
    back = torch.einsum("nij,nj->ni", matrix, 2 * shift / sides)
    grid = F.affine_grid(torch.cat([matrix, -back[:, :, None]], 2), list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, align_corners=False)


def shifted_pixels(x: Tensor, field: Tensor) -> Tensor:
    """Each pixel read from ``field (n, 2, H, W)`` pixels away (right, down), the border repeated."""
    height, width = x.shape[2:]
    rows = torch.arange(height)[:, None] + field[:, 1]
    columns = torch.arange(width)[None] + field[:, 0]
    grid = torch.stack([(2 * columns + 1) / width - 1, (2 * rows + 1) / height - 1], dim=-1)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)
