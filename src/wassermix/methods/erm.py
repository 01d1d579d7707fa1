"""Empirical risk minimisation: plain training, the reference of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch.nn.functional as F
from torch import Tensor

from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.methods.batch import Batch
from wassermix.methods.options import require_choice, require_range, smooth_labels

__all__ = ["ERM"]


@dataclass(frozen=True, kw_only=True)
class ERM:
    """Plain training: the cross-entropy of clean samples.

    ``mean CE(f(x), y)``; with ``criterion="bce"`` the binary cross-entropy of ``softmax f(x)`` against
    the label, mean over samples and classes: the protocol of the mixup family's tables. ``smoothing`` is
    the share of each label that is spread over all classes.
    """

    criterion: Literal["ce", "bce"] = "ce"
    smoothing: float = 0.0

    reference: ClassVar[str] = "plain training; bce: Kim, Choo, Song 2020"
    one_view: ClassVar[bool] = True
    sigma: ClassVar[float] = 0.0
    passes: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        require_choice(self, ("ce", "bce"), criterion=self.criterion)
        require_range(self, 0, 1, smoothing=self.smoothing)

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        """The one term ``ce`` (or ``bce``)."""
        logits = model(batch.x)
        y = smooth_labels(batch.y, logits.shape[1], self.smoothing)
        if self.criterion == "ce":
            return {"ce": labels.cross_entropy(logits, y).mean()}
        target = labels.soft(y, logits.shape[1]).to(logits.dtype)
        return {"bce": F.binary_cross_entropy(logits.softmax(dim=1), target)}
