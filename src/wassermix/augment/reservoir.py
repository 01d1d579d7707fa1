"""The reservoir: samples of each class that online augmentation remembers from batch to batch."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = ["Reservoir"]


class Reservoir:
    """The latest ``size`` latents of each class, as further sources and targets beside those of a batch."""

    def __init__(self, size: int, num_classes: int) -> None:
        if size < 0:
            raise InputError(f"augment: reservoir is not negative; got {size}")
        self.size, self.num_classes = size, num_classes
        self._kept: tuple[Tensor, Tensor] | None = None

    def join(self, z: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """This batch's latents ``(n, d)`` and classes with those remembered; then the batch is taken in."""
        if self.size == 0:
            return z, classes
        if self._kept is not None:
            z, classes = torch.cat([z, self._kept[0]]), torch.cat([classes, self._kept[1]])
        kept = torch.cat([(classes == c).nonzero()[: self.size, 0] for c in range(self.num_classes)])
        self._kept = z[kept], classes[kept]
        return z, classes

    def clear(self) -> None:
        """Forget everything."""
        self._kept = None
