"""``wassermix methods``: what can be composed, with cost, options and reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.padding import Padding

from wassermix.augment import AUGMENTERS
from wassermix.cli.console import console
from wassermix.embed import EMBEDDINGS
from wassermix.engine.settings import option_fields
from wassermix.geodesic.smoothness import REGULARIZERS
from wassermix.methods import METHODS

__all__ = ["run_methods"]

FAMILIES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "method": METHODS,
    "augment": AUGMENTERS,
    "regularizer": REGULARIZERS,
    "embed": EMBEDDINGS,
}


def run_methods() -> None:
    """Print each family's components: name and cost, what it does, options with defaults, reference."""
    for family, registry in FAMILIES.items():
        for name, factory in registry.items():
            console.print(f"[bold]{family}={name}[/]{_cost(factory)}", highlight=False)
            for line in _lines(factory):
                console.print(Padding(line, (0, 0, 0, 4)), markup=False, highlight=False)


def _lines(factory: Callable[..., Any]) -> Iterator[str]:
    yield (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ").replace("``", "")
    options = [f"{name}={_plain(default)}" for name, (_, default) in option_fields(factory).items()]
    yield f"options: {'  '.join(options) or 'none'}"
    if getattr(factory, "reference", None):
        yield f"reference: {factory.reference}"  # type: ignore[attr-defined]


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)


def _cost(factory: Callable[..., Any]) -> str:
    """Passes an image with the default options, for what has a cost of its own."""
    needed = [p.name for p in inspect.signature(factory).parameters.values() if p.default is p.empty]
    context = {"num_classes": 2} if "num_classes" in needed else {}  # the cost does not depend on it
    passes = getattr(factory(**context), "passes", None)
    return f"  ({passes:.3g} passes an image)" if isinstance(passes, int | float) else ""
