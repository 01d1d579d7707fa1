"""What the shell completes: names of recipes, methods, attacks, data and the like, without importing torch.

Each function takes the word as it was begun and returns the words that it may become. Names are read from
the registries and from the files of recipes and tables; no component is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import typer

from wassermix.attacks.registry import ATTACKS
from wassermix.augment.registry import AUGMENTERS
from wassermix.certify.registry import RULES
from wassermix.core.registry import Registry
from wassermix.data.registry import DATA
from wassermix.embed.registry import EMBEDDINGS
from wassermix.geodesic.registry import REGULARIZERS
from wassermix.methods.registry import METHODS
from wassermix.models.registry import MODELS

__all__ = [
    "COMMON_KEYS",
    "COMPLETIONS",
    "complete_data",
    "complete_override",
    "complete_recipe",
    "complete_table",
]

PARTS = {
    registry.family: registry for registry in (DATA, MODELS, METHODS, AUGMENTERS, REGULARIZERS, EMBEDDINGS)
}
"""Keys of a recipe whose value is the name of a component."""
COMMON_KEYS = ("sigma", "epochs", "updates", "batch_size", "seed", "optimizer.lr", "augment.ratio")
"""The keys with a number that are changed most often."""


def complete_recipe(incomplete: str) -> list[str]:
    """Shipped recipes, and YAML files by the shell's own means."""
    from wassermix.recipes import recipe_names

    return _beginning(incomplete, recipe_names())


def complete_table(incomplete: str) -> list[str]:
    """Tables and studies of ``wassermix reproduce``."""
    from wassermix.experiments.studies import study_names

    folder = files("wassermix").joinpath("experiments").joinpath("tables")
    tables = [one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml")]
    return _beginning(incomplete, [*sorted(tables), *study_names()])


def complete_data(incomplete: str) -> list[str]:
    """Data sets by name."""
    return _beginning(incomplete, DATA.names())


def complete_override(ctx: typer.Context, incomplete: str) -> list[str]:
    """``key=`` for the commonest keys, and the names of components behind it: ``method=gaussian``.

    bash takes ``=`` for the end of a word, so that there the word begun is what follows it.
    """
    before = [*(ctx.params.get("overrides") or [])]
    if before[-1:] == ["="] and before[-2:-1] and before[-2] in PARTS:
        return _beginning(incomplete, PARTS[before[-2]].names())
    key, equals, begun = incomplete.partition("=")
    if not equals:
        return _beginning(incomplete, [f"{one}=" for one in (*PARTS, *COMMON_KEYS)])
    return [f"{key}={name}" for name in _beginning(begun, PARTS[key].names())] if key in PARTS else []


def _beginning(word: str, known: list[str]) -> list[str]:
    return [name for name in known if name.startswith(word)]


def _names(registry: Registry) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, registry.names())

    return complete


def _splits(incomplete: str) -> list[str]:
    return _beginning(incomplete, ["test", "holdout"])


COMPLETIONS: dict[str, Callable[[str], list[str]]] = {
    "attack": _names(ATTACKS),
    "mode": _names(RULES),
    "data": complete_data,
    "reference": complete_data,
    "split": _splits,
}
"""Options made from settings, by name; those with a fixed set of choices complete by themselves."""
