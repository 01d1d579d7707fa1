"""The soft smoothed classifier over m noises, its loss, and the class that it should say."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from wassermix.core import labels

__all__ = ["majority", "smoothed_log_probability", "smoothed_loss"]


def smoothed_log_probability(logits: Tensor) -> Tensor:
    """``log(mean_i softmax(logits_i))``, in the log domain: ``(m, n, k) -> (n, k)``."""
    return logits.log_softmax(dim=2).logsumexp(dim=0) - math.log(len(logits))


def smoothed_loss(logits: Tensor, y: Tensor) -> Tensor:
    """``-sum_c y_c log(mean_i p_i)_c`` for each sample: ``(m, n, k), (n,) | (n, k) -> (n,)``.

    In the log domain no probability needs a floor, so that its gradient never dies.
    """
    log_mean = smoothed_log_probability(logits)
    target = labels.soft(y, logits.shape[2]).to(logits.dtype)
    return -(target * log_mean).sum(dim=1)


def majority(y: Tensor) -> Tensor:
    """The class that has more than half of each label, -1 where none has: ``(n,) | (n, k) -> (n,)``.

    A sample half-way between two classes has no right class, so no prediction for it counts as right.
    """
    if y.dim() == 1:
        return y
    top = y.max(dim=1)
    return torch.where(top.values > 0.5, top.indices, -1)
