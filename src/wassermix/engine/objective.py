"""The whole training loss as one module: augmentation, the method's terms, and the regulariser."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from wassermix.augment import GeodesicAugmenter, SimplexAugmenter
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.data import Split
from wassermix.embed import Embedding
from wassermix.methods import TRADES, Batch, Method, PGDTraining

__all__ = ["Extras", "Objective", "scored_under", "search_cost"]


@dataclass(frozen=True)
class Extras:
    """What may stand beside a method: an augmenter of batches, a regulariser, and what they interpolate in.

    ``source`` lends the regulariser samples of classes of which a batch has too few.
    """

    augment: Any = None
    regularizer: Any = None
    embed: Embedding | None = None
    source: Split | None = None


class Objective(nn.Module):
    """``forward(batch) -> {term: value}``; the loss is the sum of the terms.

    Distributed training wraps this module rather than the network, so that a step is exactly one forward of
    the wrapped module whatever the method does inside: copies, attacks, a derivative along a path. Its only
    submodule is the network: a fitted embedding is not trained.
    """

    def __init__(
        self, model: nn.Module, method: Method, *, num_classes: int, extras: Extras | None = None
    ) -> None:
        super().__init__()
        self.model, self.method, self.num_classes = model, method, num_classes
        home = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
        self.extras = _moved(extras or Extras(), home)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The named, weighted terms of the loss for one batch."""
        mixed = self._augmented(batch)
        with self._hidden_mixing(mixed) as target:
            seen = mixed if target is None else replace(mixed, y=target)
            terms = dict(self.method.loss(self.model, seen))
        if self.extras.regularizer is not None:
            terms["smoothness"] = self.extras.regularizer.loss(
                self.model,
                batch.x,
                batch.y,
                embed=self.extras.embed,
                generator=batch.generator,
                sigma=self.method.sigma,
                progress=batch.progress,
                source=self.extras.source,
            )
        return terms

    def _augmented(self, batch: Batch) -> Batch:
        augment = self.extras.augment
        if augment is None or hasattr(augment, "on"):
            return batch
        under = scored_under(self.method, augment, progress=batch.progress, generator=batch.generator)
        with torch.no_grad():
            x, y = augment(batch.x, batch.y, model=self.model, generator=batch.generator, **under)
        if augment.adds:
            x = torch.cat([batch.x, x])
            y = torch.cat([labels.soft(batch.y, self.num_classes), y])
        return replace(batch, x=x, y=y)

    def _hidden_mixing(self, batch: Batch) -> Any:
        """Mixing inside the network (manifold mixup) happens while the method runs its forwards."""
        augment = self.extras.augment
        if augment is None or not hasattr(augment, "on"):
            return nullcontext()
        return augment.on(self.model, batch.x, batch.y, generator=batch.generator)


def scored_under(
    method: Method, augment: Any, *, progress: float, generator: torch.Generator | None
) -> dict[str, Any]:
    """What an augmenter looks for the worst place under: the method's noise, and for a time its attack."""
    if not isinstance(augment, GeodesicAugmenter | SimplexAugmenter):
        return {}
    if not _attacks(method, augment):
        return {"sigma": method.sigma}

    def attack(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
        return method.perturb(model, Batch(x=x, y=y, progress=progress, generator=generator))

    return {"sigma": method.sigma, "attack": attack}


def search_cost(method: Method, augment: Any) -> float:
    """Passes that the search costs for each new sample; each forward of it may follow an attack."""
    passes = float(getattr(augment, "passes", 0.0))
    return passes * (1 + 3 * method.steps) if _attacks(method, augment) else passes


def _attacks(method: Method, augment: Any) -> TypeGuard[PGDTraining | TRADES]:
    wanted = isinstance(augment, GeodesicAugmenter) and augment.attacked and augment.choice == "worst"
    return wanted and isinstance(method, PGDTraining | TRADES)


def _moved(extras: Extras, home: torch.device) -> Extras:
    """The extras on the network's device; the originals stay where stored sets are made, on the CPU."""
    if home.type == "cpu" or extras.embed is None:
        return extras
    embed = copy.deepcopy(extras.embed).to(home)
    augment = copy.copy(extras.augment)
    if getattr(augment, "embed", None) is not None:
        augment.embed = embed
    return replace(extras, embed=embed, augment=augment)
