"""An attack: where it looks, what that costs, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.attacks import BallAttack
from wassermix.core.classifier import Classifier
from wassermix.core.draws import normal
from wassermix.core.labels import cross_entropy


@dataclass(frozen=True, kw_only=True)
class Shell(BallAttack):
    """The worst of ``tries`` random points on the sphere of radius ``eps``."""

    name = "shell"
    words = "the shell attack"
    tries: int = 20

    @property
    def passes(self) -> float:
        """A forward for each try."""
        return self.tries / 3

    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """The try with the largest loss, for each sample."""
        points = [self._point(x, generator) for _ in range(self.tries)]
        with torch.no_grad():
            worst = torch.stack([cross_entropy(model(point), y) for point in points]).argmax(dim=0)
        return torch.stack(points)[worst, torch.arange(len(x))]

    def _point(self, x: Tensor, generator: torch.Generator) -> Tensor:
        step = normal(tuple(x.shape), generator, x.device)
        return x + self.eps * step / step.flatten(1).norm(dim=1).reshape(-1, *[1] * (x.dim() - 1))
