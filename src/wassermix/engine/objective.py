"""The whole training loss as one module: augmentation, the method's terms, and the regulariser."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from wassermix import labels
from wassermix.augment import GeodesicAugmenter
from wassermix.data import Split
from wassermix.methods import Batch, Method

__all__ = ["Objective"]


class Objective(nn.Module):
    """``forward(batch) -> {term: value}``; the loss is the sum of the terms.

    Distributed training wraps this module rather than the network, so that a step is exactly one forward of
    the wrapped module whatever the method does inside: copies, attacks, a derivative along a path. ``source``
    lends the regulariser samples of classes of which a batch has too few.
    """

    def __init__(
        self,
        model: nn.Module,
        method: Method,
        *,
        augment: Any = None,
        regularizer: Any = None,
        embed: Any = None,
        source: Split | None = None,
        num_classes: int,
    ) -> None:
        super().__init__()
        self.model = model
        self.method, self.augment, self.regularizer, self.embed = method, augment, regularizer, embed
        self.source, self.num_classes = source, num_classes

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The named, weighted terms of the loss for one batch."""
        mixed = self._augmented(batch)
        with self._hidden_mixing(mixed) as target:
            seen = mixed if target is None else replace(mixed, y=target)
            terms = dict(self.method.loss(self.model, seen))
        if self.regularizer is not None:
            terms["smoothness"] = self.regularizer.loss(
                self.model,
                batch.x,
                batch.y,
                embed=self.embed,
                generator=batch.generator,
                sigma=self.method.sigma,
                progress=batch.progress,
                source=self.source,
            )
        return terms

    def _augmented(self, batch: Batch) -> Batch:
        if self.augment is None or hasattr(self.augment, "on"):
            return batch
        noise = {"sigma": self.method.sigma} if isinstance(self.augment, GeodesicAugmenter) else {}
        with torch.no_grad():
            x, y = self.augment(batch.x, batch.y, model=self.model, generator=batch.generator, **noise)
        if self.augment.adds:
            x = torch.cat([batch.x, x])
            y = torch.cat([labels.soft(batch.y, self.num_classes), y])
        return replace(batch, x=x, y=y)

    def _hidden_mixing(self, batch: Batch) -> Any:
        """Mixing inside the network (manifold mixup) happens while the method runs its forwards."""
        if self.augment is None or not hasattr(self.augment, "on"):
            return nullcontext()
        return self.augment.on(self.model, batch.x, batch.y, generator=batch.generator)
