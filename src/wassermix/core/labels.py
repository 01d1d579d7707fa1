"""Labels, hard ``(n,)`` or soft ``(n, k)``, and the losses that take both."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = ["checked", "cross_entropy", "entropy", "hard", "kl_score", "soft"]


def checked(y: Tensor, num_classes: int | None = None, *, count: int | None = None) -> Tensor:
    """Labels that every part understands: classes ``(n,)`` or soft labels ``(n, num_classes)``.

    A column of classes ``(n, 1)``, as tables give it, becomes ``(n,)``; anything else that would be misread,
    and labels for another number of samples than ``count``, is refused.
    """
    if y.dim() == 2 and y.shape[1] == 1 and not y.is_floating_point():
        y = y[:, 0]
    classes, k = y.dim() == 1 and not y.is_floating_point(), "k" if num_classes is None else num_classes
    fits = y.dim() == 2 and y.is_floating_point() and y.shape[1] == (num_classes or y.shape[1]) > 1
    if not (classes or fits):
        raise InputError(
            f"labels: got {y.dtype} of shape {tuple(y.shape)}; "
            f"expected whole numbers (n,), or soft labels as floats (n, {k})"
        )
    if count is not None and len(y) != count:
        raise InputError(f"labels: got {len(y)} for {count} samples; expected one for each")
    if classes and num_classes is not None and len(y) and not 0 <= int(y.min()) <= int(y.max()) < num_classes:
        raise InputError(
            f"labels: run from {int(y.min())} to {int(y.max())}; expected classes 0 to {num_classes - 1}"
        )
    return y


def soft(y: Tensor, num_classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Labels as probabilities ``(n, num_classes)``; soft ones pass through."""
    y = checked(y, num_classes)
    return y if y.dim() == 2 else F.one_hot(y.long(), num_classes).to(dtype)


def hard(y: Tensor) -> Tensor:
    """Labels as classes ``(n,)``: the most probable one of a soft label."""
    y = checked(y)
    return y.argmax(dim=1) if y.dim() == 2 else y


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """``-sum_c y_c log p_c`` for each sample: ``(n, k), (n,) | (n, k) -> (n,)``."""
    y = checked(y, count=len(logits))
    target = y.to(logits.dtype) if y.dim() == 2 else y.long()
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
    return cross_entropy(logits, y) - entropy(checked(y)).to(logits.dtype)
