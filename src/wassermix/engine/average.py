"""The moving average of a network's weights, which is smoother than the last of them."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """``a <- d a + (1 - d) w`` after each update, ``d = min(decay, (1 + t) / (10 + t))`` after t updates.

    The early, smaller ``d`` lets a short training forget its random start. Statistics that layers keep, such
    as those of batch norm, are averaged like the weights; counters are copied. It costs no passes.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module, updates: int) -> None:
        """Take in the weights of ``model`` after its update number ``updates``."""
        decay = min(self.decay, (1 + updates) / (10 + updates))
        pairs = list(zip(_tensors(self.model), _tensors(model)))
        moving = [pair for pair in pairs if pair[0].is_floating_point()]
        torch._foreach_lerp_([kept for kept, _ in moving], [new for _, new in moving], 1 - decay)
        for kept, new in pairs:
            if not kept.is_floating_point():
                kept.copy_(new)


def _tensors(model: nn.Module) -> list[Tensor]:
    return [*model.parameters(), *model.buffers()]
