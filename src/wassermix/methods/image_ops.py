"""AugMix's nine operations on images ``(n, c, h, w)`` in [0, 1], each image with a level of its own.

The integer parts (posterize, solarize, equalize) work on 256 grey values, as on 8-bit images; the affine
ones resample bilinearly and fill with black.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["OPERATIONS", "Operation"]

Operation = Callable[[Tensor, Tensor, Tensor], Tensor]
"""``(images, level (n,) in [0, 10], sign (n,) of +-1) -> images``."""


def autocontrast(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Stretch each channel to the whole range; a constant one stays."""
    low, high = x.amin(dim=(2, 3), keepdim=True), x.amax(dim=(2, 3), keepdim=True)
    width = high - low
    return torch.where(width > 0, (x - low) / torch.where(width > 0, width, 1), x)


def equalize(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Flatten the histogram of each channel over 256 grey values."""
    grey = _grey(x).flatten(2)  # (n, c, h * w)
    counts = torch.zeros(*grey.shape[:2], 256, dtype=torch.long, device=x.device)
    counts.scatter_add_(2, grey, torch.ones_like(grey))
    brightest = grey.amax(dim=2, keepdim=True)
    step = (grey.shape[2] - counts.gather(2, brightest)).div(255, rounding_mode="floor")  # (n, c, 1)
    below = counts.cumsum(dim=2) - counts
    table = (below + step.div(2, rounding_mode="floor")).div(step.clamp_min(1), rounding_mode="floor")
    flat = table.clamp_max(255).gather(2, grey).to(x.dtype) / 255
    return torch.where(step > 0, flat, x.flatten(2)).reshape(x.shape)


def posterize(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Keep the top ``4 - floor(0.4 level)`` bits of each grey value."""
    dropped = 4 + (0.4 * level).floor().long()
    width = _per_image(2**dropped)
    return (_grey(x).div(width, rounding_mode="floor") * width).to(x.dtype) / 255


def solarize(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Invert what is at least as bright as ``256 - floor(25.6 level)``."""
    threshold = _per_image(256 - (25.6 * level).floor().long())
    return torch.where(_grey(x) >= threshold, 1 - x, x)


def rotate(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Turn by ``floor(3 level)`` degrees either way."""
    angle = sign * (3 * level).floor() * math.pi / 180
    cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
    return _affine(x, [cos, -sin, zero], [sin, cos, zero])


def shear_x(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Slant rows by ``0.03 level`` pixels a pixel."""
    one, zero = torch.ones_like(level), torch.zeros_like(level)
    return _affine(x, [one, 0.03 * level * sign, zero], [zero, one, zero])


def shear_y(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Slant columns by ``0.03 level`` pixels a pixel."""
    one, zero = torch.ones_like(level), torch.zeros_like(level)
    return _affine(x, [one, zero, zero], [0.03 * level * sign, one, zero])


def translate_x(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Shift columns by ``floor(level * w / 30)`` pixels."""
    one, zero = torch.ones_like(level), torch.zeros_like(level)
    return _affine(x, [one, zero, sign * (level * x.shape[3] / 30).floor()], [zero, one, zero])


def translate_y(x: Tensor, level: Tensor, sign: Tensor) -> Tensor:
    """Shift rows by ``floor(level * h / 30)`` pixels."""
    one, zero = torch.ones_like(level), torch.zeros_like(level)
    return _affine(x, [one, zero, zero], [zero, one, sign * (level * x.shape[2] / 30).floor()])


OPERATIONS: dict[str, Operation] = {
    "autocontrast": autocontrast,
    "equalize": equalize,
    "posterize": posterize,
    "rotate": rotate,
    "solarize": solarize,
    "shear_x": shear_x,
    "shear_y": shear_y,
    "translate_x": translate_x,
    "translate_y": translate_y,
}
"""All nine by name; operations that overlap the common corruptions (brightness, ...) are left out."""


def _grey(x: Tensor) -> Tensor:
    return (x.clamp(0, 1) * 255).round().long()


def _per_image(values: Tensor) -> Tensor:
    return values.reshape(-1, 1, 1, 1)


def _affine(x: Tensor, row_x: list[Tensor], row_y: list[Tensor]) -> Tensor:
    """Read the pixel ``p = (column, row, 1)``, from the centre, at ``(row_x . p, row_y . p)``."""
    height, width = x.shape[2:]
    theta = torch.stack([torch.stack(row_x, dim=1), torch.stack(row_y, dim=1)], dim=1).to(x.dtype)
    # From pixels to the grid's [-1, 1]: a cross term changes with the aspect ratio, a shift with the size.
    to_pixels = theta.new_tensor([width / 2, height / 2, 1])
    to_grid = theta.new_tensor([2 / width, 2 / height]).reshape(1, 2, 1)
    grid = F.affine_grid(theta * to_pixels * to_grid, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
