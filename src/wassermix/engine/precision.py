"""Mixed precision: a network that computes in bfloat16 and has its weights and answers in float32."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.core.machine import has_bfloat16
from wassermix.engine.settings import Precision

__all__ = ["computing_in", "warn_where_slow"]


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
    own = vars(model).get("forward")  # a model may have been given a forward of its own

    def half(*inputs: Any, **options: Any) -> Tensor:
        with torch.autocast(device, torch.bfloat16):
            answer: Tensor = forward(*inputs, **options)
        return answer.float()

    model.__dict__["forward"] = half  # before the class's own; hooks and submodules stay as they are
    try:
        yield
    finally:
        del model.__dict__["forward"]
        if own is not None:
            model.__dict__["forward"] = own


def warn_where_slow(precision: Precision, device: torch.device) -> None:
    """Say so where bfloat16, asked for to be fast, is slow."""
    if precision == "bfloat16" and device.type == "cpu" and has_bfloat16() is False:
        warnings.warn(
            "precision=bfloat16: this processor has no products in bfloat16, so that training takes many "
            "times as long as with precision=float32",
            stacklevel=2,
        )
