"""What an epoch draws from: the training split, and beside it the stored augmented set where there is one."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.augment.protocol import StoredSet
from wassermix.core import labels
from wassermix.data import Split
from wassermix.data.protocol import is_streamed

__all__ = ["UnionSplit"]


class UnionSplit:
    """A training split followed by an augmented set, drawn from as if they were one."""

    def __init__(self, real: Split, augmented: StoredSet, num_classes: int) -> None:
        self.real, self.augmented, self.num_classes = real, augmented, num_classes
        self.shape = real.shape
        self.streamed = is_streamed(real)
        self.y = torch.cat([real.y, augmented.y])

    def __len__(self) -> int:
        return len(self.real) + len(self.augmented)

    def get(self, indices: Tensor) -> Tensor:
        """Inputs ``(len(indices), *shape)`` on the data scale, in the order asked for."""
        first, second = self._parts(indices)
        x = torch.empty(len(indices), *self.shape)
        x[first] = self.real.get(indices[first])
        x[second] = self.augmented.get(indices[second] - len(self.real))
        return x

    def soft_labels(self, indices: Tensor) -> Tensor:
        """Soft labels ``(len(indices), k)`` in the order asked for."""
        first, second = self._parts(indices)
        y = torch.empty(len(indices), self.num_classes)
        y[first] = labels.soft(self.real.y[indices[first]], self.num_classes)
        y[second] = self.augmented.labels(indices[second] - len(self.real))
        return y

    def _parts(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        is_real = indices < len(self.real)
        return is_real.nonzero()[:, 0], (~is_real).nonzero()[:, 0]
