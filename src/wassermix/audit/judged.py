"""A model's probabilities at points of a path, plain or smoothed by fixed noises."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, logits_of
from wassermix.core.errors import InputError
from wassermix.core.labels import checked, hard
from wassermix.core.streams import stream

__all__ = ["Judge", "check_samples", "short", "smoothed", "widened"]

BATCH = 500
LOWEST = -1e4
"""A log-probability that stands for minus infinity, which no file can hold."""

Judge = Callable[[Tensor], Tensor]
"""Samples ``(n, ...)`` to log-probabilities ``(n, k)``."""


def smoothed(model: Classifier, sigma: float, *, draws: int, seed: int, count: int, like: Tensor) -> Judge:
    """Samples ``(count, ...)`` to log-probabilities ``(count, k)``, averaged over fixed noises if asked."""

    def plain(x: Tensor) -> Tensor:
        logp = torch.cat([logits_of(model, rows).log_softmax(dim=1) for rows in x.split(BATCH)])
        return logp.clamp_min(LOWEST)

    def noise(draw: int) -> Tensor:  # made again at each time, for together they may not fit into memory
        generator = stream(seed, "audit noise", draw)
        return torch.randn((count, *like.shape[1:]), generator=generator).to(like)

    if sigma == 0:
        return plain

    def averaged(x: Tensor) -> Tensor:
        each = torch.stack([plain(x + sigma * noise(draw)) for draw in range(draws)])
        return each.logsumexp(dim=0) - torch.tensor(float(draws)).log().to(each)

    return averaged


def check_samples(x: Tensor, y: Tensor) -> Tensor:
    """The classes ``(n,)`` of ``x (n, ...)``; what are no samples with a class for each is refused."""
    for what, value in (("samples", x), ("labels", y)):
        if not isinstance(value, Tensor):
            raise InputError(
                f"audit: the {what} are a {type(value).__name__}; expected a tensor, torch.as_tensor({what})"
            )
    return hard(checked(y, count=len(x)))


def widened(y: Tensor, logp: Tensor) -> Tensor:
    """Labels padded with empty classes to the model's outputs, which must name every class of the labels."""
    missing = logp.shape[1] - y.shape[1]
    if missing < 0:
        raise InputError(
            f"audit: the model has {logp.shape[1]} outputs, but there are samples of class {y.shape[1] - 1}; "
            "expected an output for each class, counted from 0"
        )
    return torch.nn.functional.pad(y, (0, missing))


def short(value: float) -> float:
    """Six decimals: what a file holds."""
    return round(value, 6)
