"""MACER: training that maximises the certified radius itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.noise import noisy_logits
from wassermix.methods.options import require_range
from wassermix.methods.smoothed import majority, smoothed_loss

__all__ = ["MACER", "radius_hinge"]

EDGE = 1e-6  # probabilities are kept this far from 0 and 1, where the normal quantile is infinite


@dataclass(frozen=True, kw_only=True)
class MACER:
    """Cross-entropy of the smoothed prediction, plus a hinge on its certified radius.

    With k noises: ``mean -log(mean_i p_i)_y + weight * mean h``; for samples whose sharpened smoothed
    prediction ``z = mean_i softmax(temperature * f(x + d_i))`` is right, with its two largest entries
    ``p1 >= p2``, ``xi = Q(p1) - Q(p2)`` (Q the normal quantile) and ``xi <= gamma``,
    ``h = sigma / 2 * (gamma - xi)``; 0 for all others, among them soft labels without a majority.

    Args:
        sigma: the noise.
        noises: k.
        weight: the hinge's factor.
        temperature: sharpens the logits before the softmax.
        gamma: the hinge's margin.
        defer: the share of training before the hinge sets in (30 of 90 epochs: 0.33).
    """

    sigma: float = 0.5
    noises: int = 16
    weight: float = 16.0
    temperature: float = 16.0
    gamma: float = 8.0
    defer: float = 0.0

    reference: ClassVar[str] = "Zhai et al. 2020"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, weight=self.weight, gamma=self.gamma)
        require_range(self, 0, temperature=self.temperature)
        require_range(self, 1, noises=self.noises)
        require_range(self, 0, 1, defer=self.defer)

    @property
    def passes(self) -> float:
        """k."""
        return float(self.noises)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce`` and ``radius``."""
        logits = noisy_logits(model, batch.x, self.sigma, count=self.noises, generator=batch.generator)
        weight = self.weight if batch.progress >= self.defer else 0.0
        hinge = radius_hinge(self.temperature * logits, majority(batch.y), sigma=self.sigma, gamma=self.gamma)
        return {
            "ce": smoothed_loss(logits, batch.y).mean(),
            "radius": weight * hinge.mean(),
        }


def radius_hinge(logits: Tensor, y: Tensor, *, sigma: float, gamma: float) -> Tensor:
    """``sigma / 2 * (gamma - xi)`` where the smoothed prediction is right and ``xi <= gamma``, else 0.

    ``(k, n, classes), (n,) -> (n,)``. Probabilities are clamped, so that an infinite ``xi`` becomes one
    that is large, with a zero gradient.
    """
    smoothed = logits.softmax(dim=2).mean(dim=0)
    top = smoothed.topk(2, dim=1)
    quantile = torch.special.ndtri(top.values.clamp(EDGE, 1 - EDGE))
    xi = quantile[:, 0] - quantile[:, 1]
    counts = (top.indices[:, 0] == y) & (xi <= gamma)
    return torch.where(counts, sigma / 2 * (gamma - xi), torch.zeros_like(xi))
