"""Mixing within classes: straight lines between samples of one class, which keep their label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.mixing import beta_share, require_beta, soft_labels
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.draws import permutation

__all__ = ["WithinClass"]


@dataclass(frozen=True, kw_only=True)
class WithinClass:
    """The batch mixed with itself inside each class: ``l x + (1 - l) x[pairs]``, ``y`` unchanged.

    ``l ~ Beta(beta, beta)``, one draw a batch; partners are dealt at random among the samples whose most
    probable class is the same. A control for mixing between classes: what do mixed inputs give without
    mixed labels?
    """

    beta: float = 1.0
    num_classes: int | None = None

    adds: ClassVar[bool] = False
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "a control"

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
        target, share = soft_labels(y, self.num_classes, x.dtype), beta_share(self.beta, generator)
        mixed = permutation(len(x), generator).to(x.device)
        classes = labels.hard(y)
        # Sorted by class, once in the given and once in a random order: row by row these are partners.
        here, there = classes.argsort(stable=True), mixed[classes[mixed].argsort(stable=True)]
        pairs = torch.empty_like(here).index_copy(0, here, there)
        return share * x + (1 - share) * x[pairs], target
