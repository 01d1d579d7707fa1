"""What every solver checks first: weights and the size of the entropy."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.errors import InputError

__all__ = ["epsilon", "normalised_weights"]


def normalised_weights(
    weights: Tensor | None, name: str, batch: torch.Size, *, count: int, device: torch.device
) -> Tensor:
    """Weights as float64 ``(..., count)`` that sum to 1; None is uniform."""
    shape = (*batch, count)
    if weights is None:
        return torch.full(shape, 1 / count, dtype=torch.float64, device=device)
    if weights.shape[-1:] != (count,):
        raise InputError(
            f"{name}: got shape {tuple(weights.shape)}; expected (..., {count}), one weight a point"
        )
    weights = weights.detach().double().expand(shape)
    total = weights.sum(-1, keepdim=True)
    if not bool((weights >= 0).all() & (total > 0).all() & total.isfinite().all()):
        raise InputError(f"{name}: must be finite, not negative and not all zero")
    return weights / total


def epsilon(entropy: float | Tensor, mean: Tensor, *, absolute: bool) -> Tensor:
    """Sinkhorn's epsilon in units of cost, one for each problem, float64 ``(...)``."""
    scale = torch.as_tensor(entropy, dtype=torch.float64, device=mean.device)
    if not bool(((scale > 0) & scale.isfinite()).all()):
        raise InputError(f"entropy: got {entropy}; expected a positive finite number (or use solve_exact)")
    if not absolute:
        scale = scale * torch.where(mean > 0, mean, 1.0)  # all costs zero: any entropy gives a x b
    return scale.expand(mean.shape)
