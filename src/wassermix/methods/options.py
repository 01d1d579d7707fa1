"""Checks of options, each with a sentence that says what was expected."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from wassermix.core import labels
from wassermix.core.errors import InputError

__all__ = ["require_choice", "require_range", "smooth_labels"]


def require_range(owner: object, low: float, high: float = math.inf, **options: float) -> None:
    """Refuse an option outside ``[low, high]``: ``require_range(self, 0, sigma=self.sigma)``."""
    for name, value in options.items():
        if not low <= value <= high or math.isinf(value):
            bounds = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
            raise InputError(f"{type(owner).__name__}: {name} is {value!r}; expected a number {bounds}")


def smooth_labels(y: Tensor, num_classes: int, share: float) -> Tensor:
    """Label smoothing: ``(1 - share) y + share / k``, soft ``(n, k)``; at 0 the labels as they came."""
    if share == 0:
        return y
    return (1 - share) * labels.soft(y, num_classes) + share / num_classes


def require_choice(owner: object, choices: Sequence[str], **options: str) -> None:
    """Refuse an option that is none of ``choices``."""
    for name, value in options.items():
        if value not in choices:
            listed = ", ".join(choices)
            raise InputError(f"{type(owner).__name__}: {name} is {value!r}; expected one of {listed}")
