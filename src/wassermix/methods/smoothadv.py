"""SmoothAdv: adversarial training of the smoothed classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from wassermix.attacks import Ball, ascend
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.consistency import consistency_terms
from wassermix.methods.noise import copies, forward_copies, noises
from wassermix.methods.options import require_range
from wassermix.methods.search import box, ramp, searching
from wassermix.methods.smoothed import smoothed_loss

__all__ = ["SmoothAdv"]


@dataclass(frozen=True, kw_only=True)
class SmoothAdv:
    """Cross-entropy under noise around the worst input for the smoothed classifier.

    ``mean CE(f(x + d* + d_i), y)`` over m noises, where ``d*`` climbs ``-log(mean_i p(x + d + d_i))_y`` by T
    l2 steps of ``2 * eps / T`` from zero inside the ball of radius eps, with the *same* noises throughout.
    After a step the box comes first, then the ball. With ``weight`` the predictions at the worst input must
    agree over the noises, as in consistency regularisation:
    ``+ weight * mean_i KL(p_bar | p_i) + entropy_weight * H(p_bar)``.

    Args:
        sigma: the noise.
        noises: m.
        eps: the radius of the l2 ball, on the data scale.
        steps: T.
        warm_up: the share of training over which eps grows from 0 (10 of 90 epochs: 0.11).
        weight: the factor of the disagreement between noises.
        entropy_weight: the factor of the entropy of the mean prediction.
    """

    sigma: float = 0.5
    noises: int = 4
    eps: float = 1.0
    steps: int = 10
    warm_up: float = 0.11
    weight: float = 0.0
    entropy_weight: float = 0.0

    reference: ClassVar[str] = "Salman et al. 2019"

    def __post_init__(self) -> None:
        require_range(self, 0, sigma=self.sigma, eps=self.eps)
        require_range(self, 0, weight=self.weight, entropy_weight=self.entropy_weight)
        require_range(self, 1, noises=self.noises, steps=self.steps)
        require_range(self, 0, 1, warm_up=self.warm_up)

    @property
    def passes(self) -> float:
        """m (T + 1)."""
        return float(self.noises * (self.steps + 1))

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The term ``ce``, and where they have a weight ``consistency`` and ``entropy``."""
        noise = noises(batch.x, self.sigma, count=self.noises, generator=batch.generator)
        logits = forward_copies(model, self.moved(model, batch, noise) + noise)
        terms = {"ce": labels.cross_entropy(logits.flatten(0, 1), copies(batch.y, self.noises)).mean()}
        if self.weight or self.entropy_weight:
            spread, entropy = consistency_terms(logits)
            terms["consistency"] = self.weight * spread.mean()
            terms["entropy"] = self.entropy_weight * entropy.mean()
        return terms

    def moved(self, model: Classifier, batch: Batch, noise: Tensor) -> Tensor:
        """``x + d*`` for noises ``(m, n, ...)``."""
        eps = self.eps * ramp(batch.progress, self.warm_up)
        with searching(model):
            return ascend(
                lambda point: smoothed_loss(forward_copies(model, point + noise), batch.y),
                batch.x,
                batch.x,
                ball=Ball(eps, "l2", box(batch.x), box_first=True),
                steps=self.steps,
                step_size=2 * eps / self.steps,
                generator=batch.generator,
            )
