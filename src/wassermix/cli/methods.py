"""``wassermix methods``: what can be composed, with cost, options and reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from rich.padding import Padding

from wassermix.augment import AUGMENTERS
from wassermix.cli.console import console
from wassermix.core.registry import call_with, keyword_options
from wassermix.embed import EMBEDDINGS, Pixel
from wassermix.engine.settings import CONTEXT
from wassermix.geodesic import REGULARIZERS
from wassermix.geodesic.protocol import Regularizer
from wassermix.methods import METHODS

__all__ = ["run_methods"]

FAMILIES = (METHODS, AUGMENTERS, REGULARIZERS, EMBEDDINGS)


def run_methods() -> None:
    """Print each family's components: name and cost, what it does, options with defaults, reference."""
    for registry in FAMILIES:
        for name in registry.names():
            factory = registry.find(name)
            console.print(f"[bold]{registry.family}={name}[/]{_cost(factory)}", highlight=False)
            for line in _lines(factory):
                console.print(Padding(line, (0, 0, 0, 4)), markup=False, highlight=False)


def _lines(factory: Callable[..., Any]) -> Iterator[str]:
    yield (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ").replace("``", "")
    options = [
        f"{name}={_plain(default)}"
        for name, (_, default) in keyword_options(factory, context=CONTEXT).items()
    ]
    yield f"options: {'  '.join(options) or 'none'}"
    if getattr(factory, "reference", None):
        yield f"reference: {factory.reference}"  # type: ignore[attr-defined]


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)


def _cost(factory: Callable[..., Any]) -> str:
    """Passes with the default options, for what has a cost of its own; they are the same for any data."""
    context = {"num_classes": 2, "shape": (2,), "embed": Pixel()}
    component = call_with(factory, {}, context, what="component")
    if isinstance(component, Regularizer):
        return f"  ({component.batch_passes(256):.3g} passes for a batch of 256)"
    passes = getattr(component, "passes", None)
    return f"  ({passes:.3g} passes per sample)" if isinstance(passes, int | float) else ""
