"""What inner searches share: eval mode and frozen parameters, the box, and ramps over training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating, frozen

__all__ = ["box", "ramp", "searching"]


@contextmanager
def searching(model: Classifier) -> Iterator[None]:
    """Gradients with respect to inputs only, on the network as it will be used; all restored after."""
    with torch.enable_grad(), evaluating(model), frozen(model):
        yield


def box(x: Tensor) -> tuple[float, float] | None:
    """The limits of the data: [0, 1] for images ``(n, c, h, w)``, none for vectors."""
    return (0.0, 1.0) if x.dim() == 4 else None


def ramp(progress: float, warm_up: float, start: float = 0.0) -> float:
    """From ``start`` to 1, linear over the first ``warm_up`` share of training, then 1."""
    if progress >= warm_up:
        return 1.0
    return start + (1.0 - start) * progress / warm_up
