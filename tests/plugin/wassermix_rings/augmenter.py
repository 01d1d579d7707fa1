"""An augmenter that wants an embedding and judges its samples under the method's noise and attack."""

from __future__ import annotations

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

    def __init__(
        self, num_classes: int, embed: Embedding | None = None, *, step: float = 0.2, candidates: int = 3
    ) -> None:
        assert embed is not None
        self.num_classes, self.embed = num_classes, embed
        self.step, self.candidates = step, candidates

    @property
    def passes(self) -> float:
        """A forward for each candidate."""
        return self.candidates / 3

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        attack: object = None,
    ) -> tuple[Tensor, Tensor]:
        """As many new samples, with their labels kept."""
        z = self.embed.encode(x)
        moved = [
            self.embed.decode(z + self.step * normal(tuple(z.shape), generator, z.device))
            for _ in range(self.candidates)
        ]
        worst = torch.stack([self._loss(model, one, y, generator, sigma, attack) for one in moved]).argmax(
            dim=0
        )
        return torch.stack(moved)[worst, torch.arange(len(x))], labels.soft(y, self.num_classes)

    def _loss(
        self,
        model: Classifier | None,
        x: Tensor,
        y: Tensor,
        generator: torch.Generator | None,
        sigma: float,
        attack: object,
    ) -> Tensor:
        assert model is not None
        if callable(attack):
            x = attack(model, x, y)
        return labels.cross_entropy(model(x + sigma * normal(tuple(x.shape), generator, x.device)), y)
