"""Mixup: straight lines between random pairs of samples and of their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.mixing import BatchMixing, beta_share, mix_labels, pairing
from wassermix.core.classifier import Classifier

__all__ = ["Mixup"]


@dataclass(frozen=True, kw_only=True)
class Mixup(BatchMixing):
    """The batch mixed with itself in random pairs: ``l x + (1 - l) x[pairs]``, labels alike.

    ``l ~ Beta(beta, beta)``, one draw per batch. It is the point ``t = 1 - l`` of a geodesic whose transport
    map is the random pairing.
    """

    reference: ClassVar[str] = "Zhang et al. 2018"

    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The mixed batch; the model is not asked."""
        share = beta_share(self.beta, generator)
        pairs = pairing(len(x), generator, x.device)
        return share * x + (1 - share) * x[pairs], mix_labels(y, pairs, share)
