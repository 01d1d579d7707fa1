"""An augmenter that wants an embedding and judges its samples under the method's noise and attack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.draws import normal
from wassermix.embed import Embedding


class Outward:
    """Each sample moved in latent space by the worst, for the model, of ``candidates`` random steps."""

    adds = True
    wants_embedding = True
    scored_under = ("sigma", "attack")
    reference = "the example of docs/extend.md"

    def __init__(self, num_classes: int, embed: Embedding, *, step: float = 0.2, candidates: int = 3) -> None:
        self.num_classes, self.embed = num_classes, embed
        self.step, self.candidates = step, candidates

    @property
    def passes(self) -> float:
        """A forward for each candidate."""
        return self.candidates / 3

    def __call__(
        self, x: Tensor, y: Tensor, *, model: Classifier, generator: torch.Generator, **under: Any
    ) -> tuple[Tensor, Tensor]:
        """As many new samples, with their labels kept; ``under`` holds what ``scored_under`` names."""
        z = self.embed.encode(x)
        steps = self.step * normal((self.candidates, *z.shape), generator, z.device)
        moved = torch.stack([self.embed.decode(z + step) for step in steps])
        losses = torch.stack([self._loss(model, one, y, generator, **under) for one in moved])
        return moved[losses.argmax(dim=0), torch.arange(len(x))], labels.soft(y, self.num_classes)

    def _loss(
        self,
        model: Classifier,
        x: Tensor,
        y: Tensor,
        generator: torch.Generator,
        *,
        sigma: float = 0.0,
        attack: Callable[[Classifier, Tensor, Tensor], Tensor] | None = None,
    ) -> Tensor:
        seen = x if attack is None else attack(model, x, y)
        return labels.cross_entropy(model(seen + sigma * normal(tuple(x.shape), generator, x.device)), y)
