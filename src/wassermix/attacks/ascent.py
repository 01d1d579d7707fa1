"""Projected gradient ascent: one loop for every attack that follows gradients, and the losses it climbs."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from wassermix.attacks.ball import Ball
from wassermix.attacks.norms import direction
from wassermix.core.labels import cross_entropy, hard

__all__ = ["LOSSES", "ascend", "input_gradient", "margin"]

Score = Callable[[Tensor], Tensor]
"""What an attack climbs: inputs ``(n, ...)`` to one number for each sample ``(n,)``."""


def margin(logits: Tensor, y: Tensor) -> Tensor:
    """``max_{c != y} z_c - z_y`` for each sample: positive where the classifier is wrong."""
    label = hard(y).reshape(-1, 1)
    others = logits.scatter(1, label, -math.inf).amax(dim=1)
    return others - logits.gather(1, label).squeeze(1)


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"ce": cross_entropy, "margin": margin}


def input_gradient(score: Score, x: Tensor) -> Tensor:
    """The gradient of each sample's score at ``x``; zero where the score does not depend on it or is NaN."""
    x = x.detach().requires_grad_(True)
    values = score(x)
    if not values.requires_grad:
        return torch.zeros_like(x)
    (gradient,) = torch.autograd.grad(values.sum(), x, allow_unused=True)
    return torch.zeros_like(x) if gradient is None else torch.nan_to_num(gradient)


def ascend(
    score: Score,
    x: Tensor,
    start: Tensor,
    *,
    ball: Ball,
    steps: int,
    step_size: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Climb ``score`` from ``start`` inside the ball around ``x``: the last of ``steps`` points.

    ``x_{s+1} = clip(P_ball(x_s + step_size * direction(grad score(x_s))))``; see :class:`Ball` for the order.
    """
    current = start.detach()
    for _ in range(steps):
        moved = current + step_size * direction(input_gradient(score, current), ball.norm, generator)
        current = ball.bring_back(x, moved)
    return current.detach()
