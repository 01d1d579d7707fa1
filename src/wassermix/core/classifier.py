"""Putting a model into eval mode for a while, and back exactly as it was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

__all__ = ["Classifier", "evaluating", "frozen"]

Classifier = Callable[[Tensor], Tensor]
"""Anything that takes inputs ``(n, ...)`` to logits ``(n, k)``; a module or a plain function."""


@contextmanager
def evaluating(model: Classifier) -> Iterator[None]:
    """Eval mode inside, each submodule's own mode restored after; a plain function passes untouched."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    training = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        for module, mode in zip(modules, training):
            module.training = mode


@contextmanager
def frozen(model: Classifier) -> Iterator[None]:
    """No gradients for the parameters inside, so that attacks pay only for input gradients."""
    parameters = list(model.parameters()) if isinstance(model, nn.Module) else []
    wanted = [parameter.requires_grad for parameter in parameters]
    try:
        for parameter in parameters:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter, wants in zip(parameters, wanted):
            parameter.requires_grad_(wants)
