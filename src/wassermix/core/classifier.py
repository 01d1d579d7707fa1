"""Putting a model into eval mode for a while, and back exactly as it was found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

__all__ = ["Classifier", "evaluating", "frozen"]

Classifier = Callable[[Tensor], Tensor]
"""Anything that takes inputs ``(n, ...)`` to logits ``(n, k)``; a module or a plain function."""


@contextmanager
def evaluating(model: Classifier) -> Iterator[None]:
    """Eval mode inside, each submodule's own mode restored after; a plain function passes untouched."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    with _switched_off(modules, "training"):
        yield


@contextmanager
def frozen(model: Classifier) -> Iterator[None]:
    """No gradients for the parameters inside, so that attacks pay only for input gradients."""
    parameters = list(model.parameters()) if isinstance(model, nn.Module) else []
    with _switched_off(parameters, "requires_grad"):
        yield


_lock = threading.Lock()
_found: dict[tuple[int, str], tuple[int, bool]] = {}
"""By object and attribute: how many hold it off now, and what it was before the first of them."""


@contextmanager
def _switched_off(things: Sequence[Any], attribute: str) -> Iterator[None]:
    """The attribute False inside; what it was comes back when the last of all threads leaves."""
    keys = [(id(thing), attribute) for thing in things]
    with _lock:
        for thing, key in zip(things, keys):
            held, before = _found.get(key, (0, getattr(thing, attribute)))
            _found[key] = held + 1, before
            setattr(thing, attribute, False)
    try:
        yield
    finally:
        with _lock:
            for thing, key in zip(things, keys):
                held, before = _found.pop(key)
                if held > 1:
                    _found[key] = held - 1, before
                else:
                    setattr(thing, attribute, before)
