"""``wassermix methods``: what can be composed, with cost, options and reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table

from wassermix.augment import AUGMENTERS
from wassermix.commands.console import console
from wassermix.config import option_fields
from wassermix.embed import EMBEDDINGS
from wassermix.methods import METHODS
from wassermix.regularize import REGULARIZERS

__all__ = ["run_methods"]

FAMILIES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "method": METHODS,
    "augment": AUGMENTERS,
    "regularizer": REGULARIZERS,
    "embed": EMBEDDINGS,
}


def run_methods() -> None:
    """Print one table a family."""
    for family, registry in FAMILIES.items():
        table = Table(
            "name",
            "does",
            "passes an image",
            "options and defaults",
            "reference",
            title=f"{family}=",
            title_justify="left",
            show_lines=True,
        )
        for name, factory in registry.items():
            table.add_row(
                name,
                _summary(factory),
                _cost(factory),
                _options(factory),
                str(getattr(factory, "reference", "")),
            )
        console.print(table)


def _summary(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ")


def _cost(factory: Callable[..., Any]) -> str:
    """Passes with the default options; parts that train nothing of their own have none."""
    try:
        passes = getattr(factory(), "passes", None)
    except TypeError:  # needs context, such as the number of classes
        passes = getattr(factory, "passes", None)
    return f"{passes:g}" if isinstance(passes, int | float) else ""


def _options(factory: Callable[..., Any]) -> str:
    return "\n".join(f"{name}={default!r}" for name, (_, default) in option_fields(factory).items())
