"""Gaussian noise and copies of a batch, laid out as ``(m, n, ...)`` and flattened for one forward."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier

__all__ = ["copies", "forward_copies", "noises", "noisy_logits"]


def noises(x: Tensor, sigma: float, *, count: int, generator: torch.Generator | None) -> Tensor:
    """``count`` draws of ``N(0, sigma^2 I)`` for each sample: ``(n, ...) -> (count, n, ...)``.

    Drawn on the generator's device, so that a CPU generator repeats a run on any machine.
    """
    if sigma == 0:
        return x.new_zeros(count, *x.shape)
    device = x.device if generator is None else generator.device
    draws = torch.randn(count, *x.shape, generator=generator, device=device, dtype=x.dtype)
    return draws.to(x.device).mul_(sigma)


def noisy_logits(
    model: Classifier, x: Tensor, sigma: float, *, count: int, generator: torch.Generator | None
) -> Tensor:
    """``f(x + d_i)`` for ``count`` noises, in a single forward: ``(n, ...) -> (count, n, k)``."""
    return forward_copies(model, x + noises(x, sigma, count=count, generator=generator))


def copies(y: Tensor, count: int) -> Tensor:
    """Labels for ``count`` copies of a batch, in the order of a flattened ``(count, n, ...)``."""
    return y.repeat(count, *[1] * (y.dim() - 1))


def forward_copies(model: Classifier, x: Tensor) -> Tensor:
    """Logits of copies in a single forward: ``(m, n, ...) -> (m, n, k)``."""
    logits = model(x.flatten(0, 1))
    return logits.reshape(*x.shape[:2], -1)
