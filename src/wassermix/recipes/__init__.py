"""Recipes that ship with the package: whole training runs by name.

``NAME.yaml`` beside this file is a whole recipe. ``tables/DATA.yaml`` holds what each method changes in it,
for each sigma and for the reduced scale, from which the names ``DATA/METHOD-SIGMA`` and
``DATA/reduced/METHOD-SIGMA`` resolve; methods that train without noise have names without a sigma.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from wassermix.core.errors import InputError
from wassermix.core.yaml_file import read_mapping

__all__ = ["load_recipe", "read_recipe", "recipe_names", "recipe_passes"]


def recipe_names() -> list[str]:
    """All names that :func:`load_recipe` knows: the plain ones first, then each table's."""
    return [*_plain_names(), *_presets()]


def load_recipe(name: str) -> dict[str, Any]:
    """A shipped recipe as the dictionary that a user's own YAML file would give."""
    if name in _plain_names():
        return deepcopy(_read(f"{name}.yaml"))
    return deepcopy(_preset(name)[0])


def read_recipe(recipe: str | Path) -> dict[str, Any]:
    """A recipe by its shipped name, or from a YAML file."""
    if str(recipe).endswith((".yaml", ".yml")):
        return read_mapping(Path(recipe), "recipe")
    return load_recipe(str(recipe))


def recipe_passes(name: str) -> float:
    """What a preset's table says that one training sample costs in forward+backward passes."""
    return _preset(name)[1]


def _preset(name: str) -> tuple[dict[str, Any], float]:
    presets = _presets()
    if name not in presets:
        close = difflib.get_close_matches(name, recipe_names(), n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(repr(one) for one in close)}?" if close else "."
        plain = ", ".join(_plain_names())
        raise InputError(
            f"recipe '{name}' is unknown{hint} Expected one of {plain}, a preset such as "
            "mnist/smoothmix-0.5, or the path of a YAML file"
        )
    return presets[name]


@cache
def _plain_names() -> tuple[str, ...]:
    return _stems("")


@cache
def _presets() -> dict[str, tuple[dict[str, Any], float]]:
    """Every name of every table -> its recipe and its cost."""
    found: dict[str, tuple[dict[str, Any], float]] = {}
    for data in _stems("tables"):
        table = _read(f"tables/{data}.yaml")
        base = _read(f"{data}.yaml")
        for scale, prefix in (("paper", data), ("reduced", f"{data}/reduced")):
            for method, entry in table["methods"].items():
                trained = {"method": {"name": entry["recipe"].get("method", {}).get("name", method)}}
                for suffix, patches in _variants(entry, scale):
                    recipe = _merged(base, table["scales"][scale], trained, *patches)
                    passes = float(recipe.pop("passes"))
                    found[f"{prefix}/{method}{suffix}"] = (recipe, passes)
    return found


def _variants(entry: Mapping[str, Any], scale: str) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The patches of one method's entry: one list for each sigma, or a single one without."""
    common = [entry["recipe"]]
    last = [entry.get("reduced", {})] if scale == "reduced" else []
    if "sigma" not in entry:
        return [("", [*common, *last])]
    return [
        (f"-{sigma}", [*common, {"method": {"sigma": sigma}}, patch or {}, *last])
        for sigma, patch in entry["sigma"].items()
    ]


def _merged(base: Mapping[str, Any], *patches: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with each patch laid over it; a section that names another component is replaced whole."""
    result = dict(base)
    for patch in patches:
        for key, value in patch.items():
            old = result.get(key)
            kept = old if isinstance(old, Mapping) and _extends(value, old) else {}
            result[key] = {**kept, **value} if isinstance(value, Mapping) else value
    return result


def _extends(value: object, old: Mapping[str, Any]) -> bool:
    return isinstance(value, Mapping) and value.get("name", old.get("name")) == old.get("name")


def _stems(folder: str) -> tuple[str, ...]:
    root = files(__package__).joinpath(folder) if folder else files(__package__)
    names = [one.name for one in root.iterdir()]
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


@cache
def _read(path: str) -> dict[str, Any]:
    text = files(__package__).joinpath(path).read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded
