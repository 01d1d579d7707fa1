"""Labels, hard ``(n,)`` or soft ``(n, k)``, and the losses that take both."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["cross_entropy", "entropy", "hard", "kl_score", "soft"]


def soft(y: Tensor, num_classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Labels as probabilities ``(n, num_classes)``; soft ones pass through."""
    if y.dim() == 2:
        return y
    return F.one_hot(y.long(), num_classes).to(dtype)


def hard(y: Tensor) -> Tensor:
    """Labels as classes ``(n,)``: the most probable one of a soft label."""
    return y.argmax(dim=1) if y.dim() == 2 else y


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """``-sum_c y_c log p_c`` for each sample: ``(n, k), (n,) | (n, k) -> (n,)``."""
    target = y.to(logits.dtype) if y.dim() == 2 else y
    return F.cross_entropy(logits, target, reduction="none")


def entropy(y: Tensor) -> Tensor:
    """``-sum_c y_c log y_c`` for each label, 0 for hard ones: ``(n,)``."""
    if y.dim() == 1:
        return torch.zeros(len(y), device=y.device)
    # not xlogy(y, y): its gradient in y is infinite where a class has no mass
    return -(y * y.clamp_min(torch.finfo(y.dtype).tiny).log()).sum(dim=1)


def kl_score(logits: Tensor, y: Tensor) -> Tensor:
    """``KL(y | softmax(logits))`` for each sample: the cross-entropy less the label's own entropy.

    A mixed label costs any classifier at least its entropy; what is above that is the model's fault.
    """
    return cross_entropy(logits, y) - entropy(y).to(logits.dtype)
