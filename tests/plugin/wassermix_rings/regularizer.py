"""A regulariser: one more weighted term of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from wassermix.core.classifier import Classifier


@dataclass(frozen=True, kw_only=True)
class SmallLogits:
    """``weight`` times the mean square of the logits."""

    weight: float = 0.01

    def batch_passes(self, size: int) -> float:
        """One forward and backward for each sample."""
        return float(size)

    def loss(self, model: Classifier, x: Tensor, y: Tensor, **context: Any) -> Tensor:
        """The weighted term."""
        return self.weight * model(x).square().mean()
