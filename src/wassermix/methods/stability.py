"""Stability training: predictions under noise must follow those without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.noise import forward_copies, noises
from wassermix.methods.options import require_range

__all__ = ["Stability"]


@dataclass(frozen=True, kw_only=True)
class Stability:
    """Clean cross-entropy, plus the cross-entropy of the noisy prediction to the clean one.

    ``mean CE(f(x), y) + weight * mean H(p(x), p(x + d))``, ``H(p, q) = -sum p log q``, gradients through
    both arguments. The classification loss is on *clean* samples.
    """

    sigma: float = 0.5
    weight: float = 2.0

    reference: ClassVar[str] = "Li, Chen, Wang, Carin 2019"
    passes: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, weight=self.weight)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce`` and ``stability``."""
        noise = noises(batch.x, self.sigma, count=1, generator=batch.generator)[0]
        clean, noisy = forward_copies(model, torch.stack([batch.x, batch.x + noise]))
        agreement = -(clean.softmax(dim=1) * noisy.log_softmax(dim=1)).sum(dim=1)
        return {
            "ce": labels.cross_entropy(clean, batch.y).mean(),
            "stability": self.weight * agreement.mean(),
        }
