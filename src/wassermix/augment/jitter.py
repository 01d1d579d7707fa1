"""Jitter: the simplest new samples, each a real one with noise in proportion to each feature's spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from wassermix.augment.mixing import soft_labels, themselves
from wassermix.core.classifier import Classifier
from wassermix.core.draws import normal
from wassermix.core.errors import InputError
from wassermix.embed.protocol import require_unit_range

__all__ = ["Jitter"]


@dataclass(frozen=True, kw_only=True)
class Jitter:
    """New samples ``x + scale * s * d`` with ``d ~ N(0, I)`` and the label of ``x``.

    ``s`` is the standard deviation of each feature in the batch, so that features of any unit are moved
    alike; images stay in [0, 1]. A control for augmenters that add samples: what does noise alone give?

    Args:
        scale: the noise, in standard deviations of each feature.
        ratio: how many new samples for each one of the batch.
        num_classes: needed where labels come as classes.
    """

    scale: float = 0.1
    ratio: float = 1.0
    num_classes: int | None = None

    adds: ClassVar[bool] = True
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "a control"

    def __post_init__(self) -> None:
        if not (self.scale >= 0 and self.ratio >= 0):
            raise InputError(f"Jitter: scale is {self.scale} and ratio {self.ratio}; expected 0 or more")

    def __call__(
        self, x: Tensor, y: Tensor, *, model: Classifier | None = None, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """``round(ratio * len(x))`` new samples and their soft labels; the model is not asked."""
        require_unit_range(x)
        target = soft_labels(y, self.num_classes, x.dtype)
        near, labels = themselves(x, target, round(self.ratio * len(x)), num_classes=target.shape[1])
        spread = x.detach().std(dim=0, correction=0)
        moved = near + self.scale * spread * normal(tuple(near.shape), generator, x.device).to(x)
        return (moved.clamp(0, 1) if x.dim() == 4 else moved), labels
