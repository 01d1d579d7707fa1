"""``wassermix recipes``: the shipped trainings, and what is in one of them."""

from __future__ import annotations

import yaml

from wassermix.cli.console import say
from wassermix.recipes import load_recipe, recipe_names

__all__ = ["run_recipes"]


def run_recipes(name: str | None) -> None:
    """List the recipes, or print one as YAML, ready to be copied and changed."""
    if name is not None:
        say(yaml.safe_dump(load_recipe(name), sort_keys=False).rstrip())
        return
    for known in recipe_names():
        say(known)
    say("`wassermix recipes NAME` prints one; `wassermix train NAME key=value ...` trains it")
