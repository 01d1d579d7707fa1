"""Adversarial training: the cross-entropy of the worst input that a few steps find nearby."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from wassermix.attacks import Ball, Norm, ascend
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.options import require_choice, require_range
from wassermix.methods.search import box, ramp, searching

__all__ = ["PGDTraining"]


@dataclass(frozen=True, kw_only=True)
class PGDTraining:
    """Adversarial training: the cross-entropy of inputs moved by projected gradient ascent.

    ``mean CE(f(x + d), y)`` with ``d`` after T steps from zero in the ball of radius eps, along the unit
    gradient (l2) or its sign (linf), each cut to the box, then to the ball. The defaults are the paper's
    MNIST setting, which it prints as linf.

    Args:
        norm: ``l2`` or ``linf``.
        eps: the radius of the ball, on the data scale.
        steps: T.
        step_size: the length of a step; None is ``2 * eps / steps``.
        warm_up: the share of training over which eps grows from 0.
    """

    norm: Norm = "l2"
    eps: float = 2.0
    steps: int = 4
    step_size: float | None = None
    warm_up: float = 0.0

    reference: ClassVar[str] = "Madry et al. 2018"
    sigma: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        require_choice(self, ("l2", "linf"), norm=self.norm)
        require_range(self, 0, eps=self.eps, step_size=self.step_size or 0.0)
        require_range(self, 1, steps=self.steps)
        require_range(self, 0, 1, warm_up=self.warm_up)

    @property
    def passes(self) -> float:
        """T + 1."""
        return float(self.steps + 1)

    @property
    def perturb_passes(self) -> float:
        """T."""
        return float(self.steps)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The one term ``ce``."""
        return {"ce": labels.cross_entropy(model(self.perturb(model, batch)), batch.y).mean()}

    def perturb(self, model: Classifier, batch: Batch) -> Tensor:
        """The inputs that are trained on: ``x + d``."""
        grown = ramp(batch.progress, self.warm_up)
        step_size = 2 * self.eps / self.steps if self.step_size is None else self.step_size
        with searching(model):
            return ascend(
                lambda point: labels.cross_entropy(model(point), batch.y),
                batch.x,
                batch.x,
                ball=Ball(grown * self.eps, self.norm, box(batch.x), box_first=True),
                steps=self.steps,
                step_size=grown * step_size,
                generator=batch.generator,
            )
