"""Training under Gaussian noise: the baseline of randomized smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.noise import noises
from wassermix.methods.options import require_range, smooth_labels

__all__ = ["Gaussian"]


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Cross-entropy under Gaussian noise, one fresh draw for each sample and step.

    ``mean CE(f(x + d), y)``, ``d ~ N(0, sigma^2 I)``. ``smoothing`` is the share of each label that is spread
    over all classes.
    """

    sigma: float = 0.5
    smoothing: float = 0.0

    reference: ClassVar[str] = "Cohen, Rosenfeld, Kolter 2019"
    one_view: ClassVar[bool] = True
    passes: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma)
        require_range(self, 0, 1, smoothing=self.smoothing)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The one term ``ce``."""
        noise = noises(batch.x, self.sigma, count=1, generator=batch.generator)[0]
        logits = model(batch.x + noise)
        y = smooth_labels(batch.y, logits.shape[1], self.smoothing)
        return {"ce": labels.cross_entropy(logits, y).mean()}
