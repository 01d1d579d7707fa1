"""Consistency regularisation: predictions under different noises must agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.noise import copies, noisy_logits
from wassermix.methods.options import require_range
from wassermix.methods.smoothed import smoothed_log_probability

__all__ = ["Consistency", "consistency_terms"]


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """Noisy cross-entropy, plus the spread of the predictions over m noises, plus their entropy.

    ``mean CE(f(x + d_i), y) + weight * mean_i KL(p_bar | p_i) + entropy_weight * H(p_bar)`` with
    ``p_bar = mean_i p_i``; gradients flow through ``p_bar`` too.
    """

    sigma: float = 0.5
    noises: int = 2
    weight: float = 5.0
    entropy_weight: float = 0.5

    reference: ClassVar[str] = "Jeong, Shin 2020"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, weight=self.weight, entropy_weight=self.entropy_weight)
        require_range(self, 1, noises=self.noises)

    @property
    def passes(self) -> float:
        """m."""
        return float(self.noises)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce``, ``consistency`` and ``entropy``."""
        logits = noisy_logits(model, batch.x, self.sigma, count=self.noises, generator=batch.generator)
        spread, entropy = consistency_terms(logits)
        return {
            "ce": labels.cross_entropy(logits.flatten(0, 1), copies(batch.y, self.noises)).mean(),
            "consistency": self.weight * spread.mean(),
            "entropy": self.entropy_weight * entropy.mean(),
        }


def consistency_terms(logits: Tensor) -> tuple[Tensor, Tensor]:
    """``mean_i KL(p_bar | p_i)`` and ``H(p_bar)`` for each sample: ``(m, n, k) -> (n,), (n,)``."""
    log_p = logits.log_softmax(dim=2)
    log_mean = smoothed_log_probability(logits)
    mean = log_mean.exp()
    cross = -(mean * log_p).sum(dim=2).mean(dim=0)
    entropy = -(mean * log_mean).sum(dim=1)
    return cross - entropy, entropy
