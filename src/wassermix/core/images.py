"""Random crops and left-right flips of a batch of images, drawn from the caller's generator."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["random_crop", "random_flip"]


def random_crop(x: Tensor, pad: int, generator: torch.Generator) -> Tensor:
    """Each image of ``(n, c, h, w)`` cut at a random place out of itself with ``pad`` zeros all around."""
    n, _, height, width = x.shape
    drawn = torch.randint(0, 2 * pad + 1, (2, n, 1), generator=generator, device=generator.device)
    top, left = drawn.to(x.device)
    rows = top + torch.arange(height, device=x.device)  # (n, h)
    columns = left + torch.arange(width, device=x.device)  # (n, w)
    padded = F.pad(x, (pad, pad, pad, pad))
    image = torch.arange(n, device=x.device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def random_flip(x: Tensor, generator: torch.Generator) -> Tensor:
    """Each image of ``(n, c, h, w)`` mirrored with probability 1/2."""
    flipped = (torch.rand(len(x), generator=generator, device=generator.device) < 0.5).to(x.device)
    return torch.where(flipped[:, None, None, None], x.flip(3), x)
