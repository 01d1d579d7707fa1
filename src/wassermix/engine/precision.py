"""Mixed precision: a network that computes in bfloat16 and has its weights and answers in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

__all__ = ["Precision", "computing_in"]

Precision = Literal["float32", "bfloat16"]
"""What a network's products are computed in while it trains."""


@contextmanager
def computing_in(precision: Precision, model: nn.Module) -> Iterator[None]:
    """Inside, ``model`` computes in ``precision``; its weights, their gradients and its answers are float32.

    The loss around the network stays as exact as it was: of bfloat16's eight bits a softmax or a
    divergence of nearly equal predictions would keep nothing.
    """
    if precision == "float32":
        yield
        return
    forward, device = model.forward, next(model.parameters()).device.type

    def half(*inputs: Any, **options: Any) -> Tensor:
        with torch.autocast(device, torch.bfloat16):
            answer: Tensor = forward(*inputs, **options)
        return answer.float()

    model.__dict__["forward"] = half  # before the class's own; hooks and submodules stay as they are
    try:
        yield
    finally:
        del model.__dict__["forward"]
