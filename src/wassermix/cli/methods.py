"""``wassermix methods``: what can be composed, with cost, options and reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from rich.markup import escape
from rich.padding import Padding

from wassermix.augment import AUGMENTERS
from wassermix.cli.console import console, say
from wassermix.core.registry import call_with, keyword_options
from wassermix.data import DATA, load_data
from wassermix.data.folder import load_folder
from wassermix.data.npz import load_npz
from wassermix.data.table import load_table
from wassermix.embed import EMBEDDINGS, Pixel
from wassermix.engine.settings import CONTEXT, Config
from wassermix.geodesic import REGULARIZERS
from wassermix.geodesic.protocol import Regularizer
from wassermix.methods import METHODS
from wassermix.models import MODELS

__all__ = ["run_methods"]

FAMILIES = (METHODS, AUGMENTERS, REGULARIZERS, EMBEDDINGS)
NAMED = (DATA, MODELS)
"""Families whose components cost nothing by themselves."""


FILES: dict[str, Callable[..., Any]] = {
    "FILE.csv": load_table,
    "FILE.npz": load_npz,
    "FOLDER of images": load_folder,
}
"""Data of the user's own."""


def run_methods() -> None:
    """Print each family's components: name and cost, what it does, options with defaults, reference."""
    for registry in FAMILIES:
        for name in registry.names():
            factory = registry.find(name)
            _heading(f"{registry.family}={name}{_cost(factory)}")
            for line in _lines(factory):
                _indented(line)
    for registry in NAMED:
        _heading(f"{registry.family}={'|'.join(registry.names())}")
        for name in registry.names():
            _indented(f"{name}: {_options(registry.find(name))}")
    for what, loader in FILES.items():
        _heading(f"data={what}")
        _indented(_options(loader))
    _heading("data.KEY=VALUE for all data")
    _indented(_options(load_data))
    for section in ("optimizer", "schedule", "transform"):
        _heading(section)
        _indented("  ".join(f"{section}.{key}={_plain(value)}" for key, value in _defaults(section).items()))
    say("`wassermix recipes` lists the shipped trainings, `wassermix recipes NAME` prints one")


def _heading(words: str) -> None:
    console.print(f"[bold]{escape(words)}[/]", highlight=False)


def _indented(line: str) -> None:
    console.print(Padding(line, (0, 0, 0, 4)), markup=False, highlight=False)


def _defaults(section: str) -> dict[str, Any]:
    found: dict[str, Any] = Config.model_fields[section].default.model_dump()
    return found


def _options(factory: Callable[..., Any]) -> str:
    known = keyword_options(factory, context=CONTEXT)
    return "options: " + (
        "  ".join(f"{name}={_plain(value)}" for name, (_, value) in known.items()) or "none"
    )


def _lines(factory: Callable[..., Any]) -> Iterator[str]:
    yield (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ").replace("``", "")
    yield _options(factory)
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
