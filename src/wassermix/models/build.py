"""From a name, or the user's own factory, to a model."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from wassermix.core.errors import InputError
from wassermix.core.streams import stream_seed
from wassermix.models.protocol import ModelFactory
from wassermix.models.registry import MODELS

__all__ = ["build_model"]

SUPPLIED = ("shape", "num_classes", "mean", "std")


def build_model(
    name: str,
    *,
    shape: tuple[int, ...],
    num_classes: int,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    seed: int = 0,
    **options: Any,
) -> nn.Module:
    """A fresh model for samples of ``shape``, with weights fixed by ``seed``.

    ``name`` is one of :data:`MODELS` or ``package.module:factory``. A factory is called with those of
    ``shape``, ``num_classes``, ``mean``, ``std`` and of the ``options`` that its signature names, or with
    the number of classes as its only argument; it returns a module. Inputs come on the data scale:
    normalisation is the model's own first layer, ``mean`` and ``std`` are what to fill it with.
    """
    factory = MODELS.find(name)
    supplied = {"shape": tuple(shape), "num_classes": num_classes, "mean": mean, "std": std}
    arguments, keywords = _arguments(name, factory, supplied, options=options)
    with _seeded(stream_seed(seed, "init")):
        return _checked(name, factory, arguments, keywords)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Torch's layers draw their weights from the global stream: lend them a seeded one, then put it back."""
    state = torch.random.get_rng_state()
    try:
        torch.default_generator.manual_seed(seed)
        yield
    finally:
        torch.random.set_rng_state(state)


def _arguments(
    name: str, factory: ModelFactory, supplied: dict[str, Any], *, options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """How to call ``factory``: what it names of ``supplied``, all ``options``, nothing else."""
    parameters = _parameters(factory)
    named = [key for key, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    keywords = {key: value for key, value in supplied.items() if key in named}
    if takes_any:
        keywords |= {key: supplied[key] for key in ("shape", "num_classes")}
    for key in options:
        if (key not in named and not takes_any) or key in supplied:
            raise InputError(_unknown_option(name, key, [n for n in named if n not in SUPPLIED]))
    keywords |= options
    missing = [
        key
        for key, p in parameters.items()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and key not in keywords
    ]
    if len(missing) == 1 and not keywords.keys() & supplied.keys():
        return [supplied["num_classes"]], keywords
    if missing:
        raise InputError(
            f"model '{name}' wants the arguments {', '.join(missing)}; a factory is called with shape and "
            "num_classes, or with the number of classes alone; give the others as options or defaults"
        )
    return [], keywords


def _parameters(factory: ModelFactory) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(factory).parameters)
    except ValueError:  # a callable from C tells nothing about itself
        return {}


def _unknown_option(name: str, key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"model '{name}' takes no option '{key}'; {hint}it takes {', '.join(known) or 'none'}"


def _checked(name: str, factory: ModelFactory, arguments: list[Any], keywords: dict[str, Any]) -> nn.Module:
    """Call the user's factory; whatever goes wrong in there is told as theirs."""
    try:
        model = factory(*arguments, **keywords)
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"model '{name}' failed to build: {type(error).__name__}: {reason}") from error
    if not isinstance(model, nn.Module):
        raise InputError(f"model '{name}' returned a {type(model).__name__}; expected a torch.nn.Module")
    return model
