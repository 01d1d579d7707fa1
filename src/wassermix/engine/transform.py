"""Random crops and flips of a batch of training images, drawn from the step's own generator."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.engine.settings import Transform

__all__ = ["transform_batch"]


def transform_batch(x: Tensor, transform: Transform, generator: torch.Generator) -> Tensor:
    """Crop each image of ``(n, c, h, w)`` out of its zero-padded self, and flip half of them."""
    if transform.crop:
        x = _crop(x, transform.crop, generator)
    if transform.flip:
        flipped = torch.rand(len(x), generator=generator, device=x.device) < 0.5
        x = torch.where(flipped[:, None, None, None], x.flip(3), x)
    return x


def _crop(x: Tensor, pad: int, generator: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    top, left = torch.randint(0, 2 * pad + 1, (2, n, 1), generator=generator, device=x.device)
    rows = top + torch.arange(height, device=x.device)  # (n, h)
    columns = left + torch.arange(width, device=x.device)  # (n, w)
    padded = F.pad(x, (pad, pad, pad, pad))
    image = torch.arange(n, device=x.device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
