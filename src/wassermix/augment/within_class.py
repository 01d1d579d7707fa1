"""Mixing within classes: straight lines between samples of one class, which keep their label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.mixing import BatchMixing, beta_share
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.draws import permutation

__all__ = ["WithinClass"]


@dataclass(frozen=True, kw_only=True)
class WithinClass(BatchMixing):
    """The batch mixed with itself inside each class: ``l x + (1 - l) x[pairs]``, ``y`` unchanged.

    ``l ~ Beta(beta, beta)``, one draw per batch; partners are dealt at random among the samples whose most
    probable class is the same. A control for mixing between classes: what do mixed inputs give without
    mixed labels?
    """

    reference: ClassVar[str] = "a control"

    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The mixed batch; the model is not asked."""
        share = beta_share(self.beta, generator)
        mixed = permutation(len(x), generator).to(x.device)
        classes = labels.hard(y)
        # Sorted by class, once in the given and once in a random order: row by row these are partners.
        here, there = classes.argsort(stable=True), mixed[classes[mixed].argsort(stable=True)]
        pairs = torch.empty_like(here).index_copy(0, here, there)
        return share * x + (1 - share) * x[pairs], y
