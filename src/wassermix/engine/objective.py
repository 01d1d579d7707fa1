"""The whole training loss as one module: augmentation, the method's terms, and the regulariser."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from wassermix.augment.protocol import Augmentation, Conditions
from wassermix.core import labels
from wassermix.core.classifier import keeping_statistics
from wassermix.data import Split
from wassermix.data.protocol import is_streamed
from wassermix.embed import Embedding
from wassermix.engine.build import Parts
from wassermix.engine.precision import computing_in, warn_where_slow
from wassermix.engine.settings import Precision
from wassermix.geodesic.protocol import Regularizer
from wassermix.methods import Batch, Method
from wassermix.methods.protocol import current, perturbation
from wassermix.methods.teacher import with_unvoted

__all__ = ["Extras", "Objective", "conditions_of", "objective_of", "online"]


@dataclass(frozen=True)
class Extras:
    """What may stand beside a method: an augmenter of batches, a regulariser, and what they interpolate in.

    ``source`` lends the regulariser samples of classes of which a batch has too few.
    """

    augment: Augmentation | None = None
    regularizer: Regularizer | None = None
    embed: Embedding | None = None
    source: Split | None = None


class Objective(nn.Module):
    """``forward(batch) -> {term: value}``; the loss is the sum of the terms.

    Distributed training wraps this module rather than the network, so that a step is exactly one forward of
    the wrapped module whatever the method does inside: copies, attacks, a derivative along a path. Its only
    submodule is the network: a fitted embedding is not trained. ``precision`` is that of the method's own
    forwards; augmenters and the regulariser compute in float32.
    """

    def __init__(
        self,
        model: nn.Module,
        method: Method,
        *,
        num_classes: int,
        extras: Extras | None = None,
        precision: Precision = "float32",
    ) -> None:
        super().__init__()
        self.model, self.method, self.num_classes = model, method, num_classes
        self.precision = precision
        home = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
        warn_where_slow(precision, home)
        self.extras = _moved(extras or Extras(), home)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """The named, weighted terms of the loss for one batch."""
        mixed = self._augmented(batch)
        with computing_in(self.precision, self.model), self._hidden_mixing(mixed) as target:
            seen = mixed if target is None else replace(mixed, y=target)
            terms = dict(self.method.loss(self.model, seen))
        if self.extras.regularizer is not None:
            with keeping_statistics(self.model):
                terms["smoothness"] = self.extras.regularizer.loss(
                    self.model,
                    batch.x,
                    batch.y,
                    embed=self.extras.embed,
                    generator=batch.generator,
                    sigma=current(self.method, batch.progress)[0].sigma,
                    progress=batch.progress,
                    source=self.extras.source,
                )
        return terms

    def begin_epoch(self) -> None:
        """Let the augmenter forget earlier batches, so that a resumed training is the same."""
        if self.extras.augment is not None:
            self.extras.augment.begin_epoch()

    def _augmented(self, batch: Batch) -> Batch:
        augment = self.extras.augment
        if augment is None or augment.mixes_inside:
            return batch
        under = conditions_of(self.method, batch.progress, batch.generator)
        x, y = augment.mix(batch.x, batch.y, model=self.model, generator=batch.generator, conditions=under)
        votes = with_unvoted(batch.votes, len(x)) if augment.adds else None
        if augment.adds:
            x = torch.cat([batch.x, x])
            y = torch.cat([labels.soft(batch.y, self.num_classes), y])
        return replace(batch, x=x, y=y, votes=votes)

    def _hidden_mixing(self, batch: Batch) -> AbstractContextManager[Tensor | None]:
        """Mixing inside the network (manifold mixup) happens while the method runs its forwards."""
        augment = self.extras.augment
        if augment is None or not augment.mixes_inside:
            return nullcontext()
        return augment.mix_inside(self.model, batch.x, batch.y, generator=batch.generator)


def objective_of(parts: Parts, precision: Precision = "float32") -> Objective:
    """The objective of a training's parts; a regulariser borrows samples where reading them costs little."""
    extras = Extras(
        augment=online(parts),
        regularizer=parts.regularizer,
        embed=parts.embed,
        source=None if is_streamed(parts.data.train) else parts.data.train,
    )
    return Objective(
        parts.model, parts.method, num_classes=parts.data.num_classes, extras=extras, precision=precision
    )


def online(parts: Parts) -> Augmentation | None:
    """The augmenter, where it works on each batch."""
    return None if parts.augment is None or parts.augment.keeps_set is not None else parts.augment


def conditions_of(method: Method, progress: float, generator: torch.Generator | None = None) -> Conditions:
    """How the method trains at this share of training: what an augmenter looks for the worst place under."""
    own, sigma = perturbation(method, progress, generator), current(method, progress)[0].sigma
    if own is None:
        return Conditions(sigma, trained=progress)
    return Conditions(sigma, own.attack, own.passes, progress)


def _moved(extras: Extras, home: torch.device) -> Extras:
    """The extras on the network's device; the originals stay where stored sets are made, on the CPU."""
    if home.type == "cpu" or extras.embed is None:
        return extras
    embed = copy.deepcopy(extras.embed).to(home)
    augment = None if extras.augment is None else extras.augment.with_embedding(embed)
    return replace(extras, embed=embed, augment=augment)
