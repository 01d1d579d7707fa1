"""``wassermix train DATA --minutes M``: the recommended recipe on any data, made to fit the time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from wassermix.cli.console import counted, say
from wassermix.core.errors import InputError
from wassermix.data import Dataset, load_data
from wassermix.engine import estimate_training
from wassermix.engine.settings import Config, build_config
from wassermix.recipes import load_recipe

__all__ = ["best_config", "best_recipe", "expectation", "fit_to_minutes"]

MEASURED = 5.0
"""Seconds of training that measure the machine."""
SMALLEST = 16
"""Sides from which on LeNet takes an image."""


def best_config(data: str, overrides: Mapping[str, Any], *, minutes: float, sigma: float | None) -> Config:
    """The recommended recipe for ``data``, as long as ``minutes`` allow here; says what it measured."""
    with counted("downloading") as downloading:
        dataset = load_data(data, progress=downloading)
    named = {} if sigma is None else {"sigma": sigma}
    config = build_config(best_recipe(dataset), {"data": data, **named, **overrides})
    return fit_to_minutes(config, minutes, samples=len(dataset.train))


def best_recipe(dataset: Dataset) -> dict[str, Any]:
    """The recipe ``best`` with the architecture that suits the samples' shape."""
    recipe = load_recipe("best")
    if len(dataset.shape) != 3 or min(dataset.shape[1:]) < SMALLEST:
        return {**recipe, "model": {"name": "mlp"}}
    if dataset.shape[0] == 1:
        return recipe
    return {**recipe, "model": {"name": "resnet20"}, "transform": {"crop": 4, "flip": True}}


def fit_to_minutes(config: Config, minutes: float, *, samples: int) -> Config:
    """The config with a budget of passes that takes about ``minutes`` here, measured for some seconds."""
    if minutes <= 0:
        raise InputError(f"--minutes is {minutes:g}; expected a positive number")
    cost = estimate_training(config, seconds=MEASURED)
    passes = max(1, round(60 * minutes * cost.passes_per_second))
    each = cost.passes / cost.updates / config.batch_size
    say(
        f"this machine: {cost.passes_per_second:,.0f} forward+backward passes per second; "
        f"{minutes:g} minutes are {passes:,} of them, "
        f"{passes / each / samples:.1f} epochs of {samples:,} samples"
    )
    if (told := expectation(passes)) is not None:
        say(told)
    return config.model_copy(update={"budget": f"passes:{passes}", "updates": None, "epochs": None})


def expectation(passes: int) -> str | None:
    """What a training of about this length reached where it was measured; None where nothing was."""
    file = files("wassermix.recipes").joinpath("measured.json")
    record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"rows": []}
    if not record["rows"]:
        return None
    near = min(record["rows"], key=lambda row: abs(math.log(row["passes"] / passes)))
    shares = [f"{cell['accuracy']:.0%} at {cell['radius']:g}" for cell in near["certified"][::2]]
    return (
        f"measured on {record['data']} at sigma {record['sigma']:g} after {near['passes'] / 1e6:.1f} million "
        f"passes: certified {', '.join(shares)} (radius); other data and noise come out otherwise"
    )
