"""Random crops and flips of a batch of training images, drawn from the step's own generator."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.images import random_crop, random_flip
from wassermix.engine.sections import Transform

__all__ = ["transform_batch"]


def transform_batch(x: Tensor, transform: Transform, generator: torch.Generator) -> Tensor:
    """Crop each image of ``(n, c, h, w)`` out of its zero-padded self, and flip half of them."""
    if transform.crop:
        x = random_crop(x, transform.crop, generator)
    return random_flip(x, generator) if transform.flip else x
