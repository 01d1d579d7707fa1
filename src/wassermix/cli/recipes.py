"""``wassermix recipes``: the shipped trainings, and what is in one of them."""

from __future__ import annotations

from typing import Any

import yaml

from wassermix.cli.console import say
from wassermix.recipes import load_recipe, recipe_names

__all__ = ["run_recipes"]


def run_recipes(name: str | None) -> dict[str, Any]:
    """List the recipes, or print one as YAML, ready to be copied and changed."""
    if name is not None:
        recipe = load_recipe(name)
        say(yaml.safe_dump(recipe, sort_keys=False).rstrip())
        return {"name": name, "recipe": recipe}
    known = recipe_names()
    for one in known:
        say(one)
    say("`wassermix recipes NAME` prints one; `wassermix train NAME key=value ...` trains it")
    return {"recipes": known}
