"""The soft smoothed classifier over m noises, and its loss: what SmoothAdv and SmoothMix attack."""

from __future__ import annotations

import math

from torch import Tensor

from wassermix import labels

__all__ = ["smoothed_log_probability", "smoothed_loss"]


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
