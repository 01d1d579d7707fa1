"""What a method is given at each step: the samples, their labels, how far training is, and its randomness."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch:
    """One step's samples.

    Attributes:
        x: inputs ``(n, ...)`` on their data scale, ``[0, 1]`` for images.
        y: labels, int64 ``(n,)`` or soft ``(n, k)``.
        progress: the share of training that is done, in ``[0, 1]``; ramps and warm-ups read it.
        generator: where this step's noise comes from; None is torch's own generator.
        teacher: another network to learn from, in eval mode; None where the method asks for none.
        votes: the share of a teacher's votes for each class ``(n, k)``, counted before training; a row of NaN
            for a sample on which it has not voted, and None where it has voted on none.
    """

    x: Tensor
    y: Tensor
    progress: float = 1.0
    generator: torch.Generator | None = None
    teacher: Classifier | None = None
    votes: Tensor | None = None

    def __len__(self) -> int:
        return len(self.x)
