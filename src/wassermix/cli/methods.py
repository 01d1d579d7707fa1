"""``wassermix methods``: what can be composed, with cost, options and reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.padding import Padding

from wassermix.augment import AUGMENTERS
from wassermix.cli.console import console, say
from wassermix.core.registry import Registry, call_with, keyword_options
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
ALL_DATA = ".KEY=VALUE for all data"


def run_methods() -> dict[str, Any]:
    """Print each family's components: name and cost, what it does, options with defaults, reference."""
    components = [_component(registry, name) for registry in FAMILIES for name in registry.names()]
    named = {r.family: {name: _options(r.find(name)) for name in r.names()} for r in NAMED}
    own = {what: _options(loader) for what, loader in FILES.items()}
    for_all = _options(load_data)
    sections = {name: _defaults(name) for name in ("optimizer", "schedule", "transform")}
    for component in components:
        _print_component(component)
    for family, members in named.items():
        _heading(f"{family}={'|'.join(members)}")
        for name, options in members.items():
            _indented(f"{name}: {_listed(options)}")
    for what, options in {**{f"={what}": found for what, found in own.items()}, ALL_DATA: for_all}.items():
        _heading(f"data{what}")
        _indented(_listed(options))
    for section, options in sections.items():
        _heading(section)
        _indented("  ".join(f"{section}.{key}={_plain(value)}" for key, value in options.items()))
    say("`wassermix recipes` lists the shipped trainings, `wassermix recipes NAME` prints one")
    files = {"files": own, "any": for_all}
    return {"components": [vars(one) for one in components], **named, "own_data": files, **sections}


@dataclass(frozen=True)
class Component:
    """A method, augmenter, regulariser or embedding as the listing shows it."""

    family: str
    name: str
    passes: float | None
    """Forward+backward passes per sample (a regulariser's: per batch of 256); None for what costs none."""
    does: str
    options: dict[str, Any]
    reference: str | None


def _component(registry: Registry, name: str) -> Component:
    factory = registry.find(name)
    does = (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ").replace("``", "")
    reference = getattr(factory, "reference", None)
    return Component(registry.family, name, _passes(factory), does, _options(factory), reference)


def _print_component(one: Component) -> None:
    per = "for a batch of 256" if one.family == REGULARIZERS.family else "per sample"
    cost = (
        "" if one.passes is None else f"  ({one.passes:.3g} {'pass' if one.passes == 1 else 'passes'} {per})"
    )
    _heading(f"{one.family}={one.name}{cost}")
    _indented(one.does)
    _indented(_listed(one.options))
    if one.reference:
        _indented(f"reference: {one.reference}")


def _heading(words: str) -> None:
    console.print(f"[bold]{escape(words)}[/]", highlight=False)


def _indented(line: str) -> None:
    console.print(Padding(line, (0, 0, 0, 4)), markup=False, highlight=False)


def _defaults(section: str) -> dict[str, Any]:
    found: dict[str, Any] = Config.model_fields[section].default.model_dump()
    return found


def _options(factory: Callable[..., Any]) -> dict[str, Any]:
    """The options with their defaults; ``...`` where one must be given."""
    return {name: value for name, (_, value) in keyword_options(factory, context=CONTEXT).items()}


def _listed(options: Mapping[str, Any]) -> str:
    return "options: " + ("  ".join(f"{key}={_plain(value)}" for key, value in options.items()) or "none")


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)


def _passes(factory: Callable[..., Any]) -> float | None:
    """Passes with the default options, for what has a cost of its own; they are the same for any data."""
    context = {"num_classes": 2, "shape": (2,), "embed": Pixel()}
    component = call_with(factory, {}, context, what="component")
    if isinstance(component, Regularizer):
        return component.batch_passes(256)
    passes = getattr(component, "passes", None)
    return passes if isinstance(passes, int | float) else None
