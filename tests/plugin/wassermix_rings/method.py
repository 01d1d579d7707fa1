"""A training method with an attack of its own: named loss terms, and the inputs that it trains on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.draws import normal
from wassermix.methods import Batch
from wassermix.methods.search import searching


@dataclass(frozen=True, kw_only=True)
class SignNoise:
    """Cross-entropy under noise, at the worse of ``x`` plus and minus ``eps`` in the gradient's direction."""

    sigma: float = 0.3
    eps: float = 0.1

    passes = 2.0  # one for the gradient, one for the step

    def perturb(self, model: Classifier, batch: Batch) -> Tensor:
        """One step along the sign of the gradient."""
        with searching(model), torch.enable_grad():
            x = batch.x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(labels.cross_entropy(model(x), batch.y).sum(), x)
        return batch.x + self.eps * slope.sign()

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The one term ``ce``."""
        noise = self.sigma * normal(tuple(batch.x.shape), batch.generator, batch.x.device)
        return {"ce": labels.cross_entropy(model(self.perturb(model, batch) + noise), batch.y).mean()}
