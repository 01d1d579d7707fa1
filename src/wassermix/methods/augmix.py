"""AugMix: mixed chains of simple image operations, and predictions that must agree on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.methods.batch import Batch
from wassermix.methods.image_ops import OPERATIONS
from wassermix.methods.noise import forward_copies
from wassermix.methods.options import require_range

__all__ = ["AugMix", "augmented_view", "jensen_shannon"]


@dataclass(frozen=True, kw_only=True)
class AugMix:
    """Clean cross-entropy, plus the disagreement of three views made by mixed chains of operations.

    ``mean CE(f(x), y) + weight * mean JSD(p(x), p(x1), p(x2))``; a view is
    ``(1 - m) x + m sum_i w_i chain_i(x)`` with ``w ~ Dirichlet(1, 1, 1)``, ``m ~ U[0, 1]`` and chains of
    one to three of nine operations, drawn for each image. Only for images.

    Args:
        weight: the factor of the Jensen-Shannon divergence.
        severity: the highest level of an operation (10 is the strongest).
        width: how many chains are mixed.
        depth: the most operations in a chain.
    """

    weight: float = 12.0
    severity: float = 3.0
    width: int = 3
    depth: int = 3

    reference: ClassVar[str] = "Hendrycks et al. 2020"
    needs_images: ClassVar[bool] = True
    sigma: ClassVar[float] = 0.0
    passes: ClassVar[float] = 3.0

    def __post_init__(self) -> None:
        require_range(self, 0, weight=self.weight)
        require_range(self, 0.1, 10, severity=self.severity)
        require_range(self, 1, width=self.width, depth=self.depth)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The terms ``ce`` (of the clean view only) and ``jsd``."""
        if batch.x.dim() != 4:
            raise InputError(f"AugMix works on images (n, c, h, w); got inputs {tuple(batch.x.shape)}")
        logits = forward_copies(model, self.views(batch))
        return {
            "ce": labels.cross_entropy(logits[0], batch.y).mean(),
            "jsd": self.weight * jensen_shannon(logits).mean(),
        }

    def views(self, batch: Batch) -> Tensor:
        """The images and two augmented views of them: ``(3, n, c, h, w)``."""
        twice = torch.cat([batch.x, batch.x])  # together, because calling operations costs most
        augmented = augmented_view(
            twice, severity=self.severity, width=self.width, depth=self.depth, generator=batch.generator
        )
        return torch.cat([batch.x, augmented]).reshape(3, *batch.x.shape)


def jensen_shannon(logits: Tensor) -> Tensor:
    """``mean_v KL(p_v | mean_v p_v)`` for each sample, the mean kept above 1e-7: ``(v, n, k) -> (n,)``."""
    log_p = logits.log_softmax(dim=2)
    log_mean = log_p.exp().mean(dim=0).clamp(1e-7, 1).log()
    return (log_p.exp() * (log_p - log_mean)).sum(dim=2).mean(dim=0)


@torch.no_grad()
def augmented_view(
    x: Tensor, *, severity: float, width: int, depth: int, generator: torch.Generator | None
) -> Tensor:
    """``(1 - m) x + m sum_i w_i chain_i(x)`` for images ``(n, c, h, w)``, all chains run together."""
    device = x.device if generator is None else generator.device

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, device=device, dtype=torch.float64).to(x.device)

    exponentials = -torch.log1p(-uniform(width, len(x)))  # normalised, these are Dirichlet(1, ..., 1)
    weights = (exponentials / exponentials.sum(dim=0).clamp_min(1e-300)).to(x.dtype)
    lengths = 1 + (uniform(width * len(x)) * depth).long()
    chains = x.repeat(width, 1, 1, 1)
    for step in range(depth):
        going = (lengths > step).nonzero().squeeze(1)
        chains[going] = _apply_drawn(chains[going], uniform(3, len(going)), severity)
    mixed = (weights.reshape(-1, 1, 1, 1) * chains).reshape(width, *x.shape).sum(dim=0)
    share = uniform(len(x)).to(x.dtype).reshape(-1, 1, 1, 1)
    return (1 - share) * x + share * mixed


def _apply_drawn(images: Tensor, draws: Tensor, severity: float) -> Tensor:
    """One operation for each image, from three uniform numbers: which, at what level, to which side."""
    operations = list(OPERATIONS.values())
    which = (draws[0] * len(operations)).long()
    level = (0.1 + (severity - 0.1) * draws[1]).to(images.dtype)
    sign = torch.where(draws[2] < 0.5, -1.0, 1.0).to(images.dtype)
    result = torch.empty_like(images)
    for index, operation in enumerate(operations):
        chosen = (which == index).nonzero().squeeze(1)
        if len(chosen):
            result[chosen] = operation(images[chosen], level[chosen], sign[chosen])
    return result
