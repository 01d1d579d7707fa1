"""What to train, and for how long: from words to a config, and from minutes to a budget of passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.processes import from_first
from wassermix.data import DATA, Dataset, load_data
from wassermix.engine.cost import TrainingCost, estimate_training
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import (
    LENGTHS,
    Config,
    Section,
    apply_overrides,
    build_config,
    resolve_section,
)
from wassermix.recipes import load_recipe, read_recipe, recipe_names

__all__ = ["BEST", "Plan", "best_recipe", "fit_to_minutes", "plan_config"]

BEST = "best"
"""The recommended recipe's name."""
SMALLEST = 16
"""Sides from which on LeNet takes an image."""
ENDLESS = 10**15
"""A budget of passes beyond any training."""
MEASURED = 5.0
"""Seconds of training that measure the machine."""

Changes = Mapping[str, Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """A config whose budget fits the minutes, and what was measured for it."""

    config: Config
    cost: TrainingCost | None
    """What it will cost here; None where a run that is there has told its length."""


def plan_config(
    recipe: str | Path | Changes,
    changes: Changes,
    *,
    timed: bool = False,
    downloading: Progress | None = None,
) -> Config:
    """The config that a recipe (its shipped name, a YAML file, or a mapping) and changes mean.

    With ``recipe=NAME`` among the changes, ``recipe`` names data for that recipe; so it does where the
    training is ``timed``, for the recommended one, unless it is the name of a recipe and of no data. The
    recommended recipe takes the architecture that suits the data, unless the changes name one.
    """
    if timed:
        _refuse_lengths(changes)
    if isinstance(recipe, Mapping):
        return build_config(recipe, changes)
    name, changes = _recipe_and_changes(str(recipe), changes, timed=timed)
    raw = read_recipe(name)
    return build_config(_suited(raw, changes, downloading) if name == BEST else raw, changes)


def best_recipe(dataset: Dataset) -> dict[str, Any]:
    """The recommended recipe with the architecture that suits the samples' shape."""
    recipe = load_recipe(BEST)
    if len(dataset.shape) != 3 or min(dataset.shape[1:]) < SMALLEST:
        return {**recipe, "model": {"name": "mlp"}}
    if dataset.shape[0] == 1:
        return recipe
    return {**recipe, "model": {"name": "resnet20"}, "transform": {"crop": 4, "flip": True}}


def fit_to_minutes(config: Config, minutes: float, out: Path, *, keep: bool = True) -> Plan:
    """The config with a budget of passes that takes about ``minutes`` here, measured for some seconds.

    A run that is in ``out`` already keeps the budget that it was begun with, unless ``keep`` is False: the
    same call resumes it. Several processes measure together, and take the first one's word.
    """
    if not 0 < minutes < math.inf:
        raise InputError(f"--minutes is {minutes:g}; expected a positive number, such as 30")
    begun = from_first(lambda: _budget_in(out)) if keep else None
    if begun is not None:
        return Plan(_lasting(config, begun), None)
    # Measured as a training so long that what a teacher costs before the first step is none of it.
    cost = estimate_training(_lasting(config, f"passes:{ENDLESS}"), seconds=MEASURED)
    passes = max(1, round(60 * minutes * cost.passes_per_second))
    share = max(0.0, passes - cost.beforehand) / ENDLESS
    fitted = replace(cost, passes=passes, updates=math.ceil(cost.updates * share), epochs=cost.epochs * share)
    return Plan(_lasting(config, f"passes:{passes}"), fitted)


def _refuse_lengths(changes: Changes) -> None:
    for key in LENGTHS:
        if key in changes:
            raise InputError(f"the minutes and {key}={changes[key]} both say how long to train; give one")


def _recipe_and_changes(word: str, changes: Changes, *, timed: bool) -> tuple[str, dict[str, Any]]:
    """Which recipe ``word`` and the changes name, and what to change in it: also the data, if named so."""
    rest = {key: value for key, value in changes.items() if key != "recipe"}
    if "recipe" in changes:
        data = read_recipe(word)["data"] if _is_only_recipe(word) else word
        return str(changes["recipe"]), _on_data(data, rest)
    if timed and not _is_only_recipe(word):
        return BEST, _on_data(word, rest)
    return word, rest


def _is_only_recipe(word: str) -> bool:
    return word.endswith((".yaml", ".yml")) or (word in recipe_names() and word not in DATA.names())


def _on_data(data: str | Section, changes: Changes) -> dict[str, Any]:
    if "data" in changes:
        named = data if isinstance(data, str) else data["name"]
        raise InputError(f"'{named}' and data={changes['data']} both name the data; give them once")
    return {"data": data, **changes}


def _suited(raw: dict[str, Any], changes: Changes, downloading: Progress | None) -> dict[str, Any]:
    """The recommended recipe for the data that the changes name, which are loaded to see their shape."""
    about_data = {key: value for key, value in changes.items() if key.partition(".")[0] == "data"}
    section = resolve_section("data", apply_overrides({"data": raw["data"]}, about_data)["data"])
    if section["name"] == raw["data"]["name"]:
        return raw
    return best_recipe(load_data(**section, progress=downloading))


def _budget_in(out: Path) -> str | None:
    """The budget of the run in ``out``; None where there is none."""
    run = RunDir(out)
    return run.stored().get("budget") if run.config_file.exists() else None


def _lasting(config: Config, budget: str) -> Config:
    return config.model_copy(update={"budget": budget, "updates": None, "epochs": None})
