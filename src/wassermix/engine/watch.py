"""What is looked at while a training runs: accuracy under noise, and numbers that stop being numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from wassermix.core.classifier import evaluating
from wassermix.data import Split, batches

__all__ = ["noisy_accuracy", "require_finite_loss", "require_finite_weights", "watched"]

WATCHED = 1000
"""So many samples, evenly spaced, show the accuracy after each epoch."""


def watched(split: Split) -> Tensor:
    """Indices of the samples that are looked at, evenly spaced."""
    return torch.linspace(0, len(split) - 1, min(WATCHED, len(split))).round().long()


@torch.no_grad()
def noisy_accuracy(
    model: nn.Module, split: Split, sigma: float, *, batch_size: int, generator: torch.Generator
) -> float:
    """The share of watched samples that are right under one draw of the noise."""
    chosen, right, device = watched(split), 0, generator.device
    with evaluating(model):
        for _, x, y in batches(split, chosen, batch_size=batch_size):
            x = x.to(device)
            x = x + sigma * torch.randn(x.shape, generator=generator, device=device)
            right += int((model(x).argmax(1).cpu() == y).sum())
    return right / len(chosen)


def require_finite_loss(loss: float, *, update: int, lr: float) -> None:
    """Stop a training whose loss is NaN or infinite."""
    if not math.isfinite(loss):
        raise ArithmeticError(f"the loss became {loss} at update {update}; {_remedy(lr)}")


def require_finite_weights(model: nn.Module, *, update: int, lr: float) -> None:
    """Stop a training whose weights are NaN or infinite, before they are written."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ArithmeticError(f"'{name}' became NaN or infinite by update {update}; {_remedy(lr)}")


def _remedy(lr: float) -> str:
    return f"lower optimizer.lr (now {lr:g}) or the weight of a term; the last checkpoint is kept"
