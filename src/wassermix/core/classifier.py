"""A model as a callable: its modes, restored exactly as they were found, and what it may answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from wassermix.core.errors import InputError

__all__ = ["Classifier", "evaluating", "frozen", "keeping_statistics", "logits_of"]

NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)
TRACKING = "track_running_stats"

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


@contextmanager
def keeping_statistics(model: Classifier) -> Iterator[None]:
    """Layers that normalise by their batch do so inside too, but leave their running statistics alone."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    with _switched_off([one for one in modules if isinstance(one, NORMS) and one.training], TRACKING):
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


def logits_of(model: Classifier, x: Tensor) -> Tensor:
    """The model's answer to ``x (n, ...)``, refused with a sentence where it is not logits ``(n, k)``."""
    answer = model(x)
    if not isinstance(answer, Tensor):
        raise InputError(
            f"the model answers a {type(answer).__name__}; expected a tensor of logits (n, k): wrap it, "
            "such as lambda x: model(x)['logits']"
        )
    if not answer.is_floating_point() or answer.dim() != 2 or len(answer) != len(x) or answer.shape[1] < 2:
        dtype = str(answer.dtype).removeprefix("torch.")
        raise InputError(
            f"the model answers {dtype} of shape {tuple(answer.shape)} to {len(x)} inputs; expected logits "
            f"({len(x)}, k) for two classes or more"
        )
    # minus infinity is how a model rules a class out; it decides as long as its largest logit is a number
    finite = ~answer.isnan().any(dim=1) & answer.amax(dim=1).isfinite()
    if not bool(finite.all()):
        lost = int((~finite).sum())
        raise InputError(
            f"the model answers NaN or infinite values on {lost} of {len(x)} inputs, so it decides nothing "
            "there; look for weights that are not finite, or train it again with a smaller step"
        )
    return answer
