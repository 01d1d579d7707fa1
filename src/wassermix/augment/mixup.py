"""Mixup: straight lines between random pairs of samples and of their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.mixing import beta_share, mix_labels, pairing, require_beta, soft_labels
from wassermix.core.classifier import Classifier

__all__ = ["Mixup"]


@dataclass(frozen=True, kw_only=True)
class Mixup:
    """The batch mixed with itself in random pairs: ``l x + (1 - l) x[pairs]``, labels alike.

    ``l ~ Beta(beta, beta)``, one draw a batch. It is the point ``t = 1 - l`` of a geodesic whose transport
    map is the random pairing.
    """

    beta: float = 1.0
    num_classes: int | None = None

    adds: ClassVar[bool] = False
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "Zhang et al. 2018"

    def __post_init__(self) -> None:
        require_beta(self, self.beta)

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Mixed samples and soft labels, as many as came; the model is not asked."""
        target = soft_labels(y, self.num_classes, x.dtype)
        share = beta_share(self.beta, generator)
        pairs = pairing(len(x), generator, x.device)
        return share * x + (1 - share) * x[pairs], mix_labels(target, pairs, share)
