"""What ``wassermix train DATA --minutes M`` says before it trains: the pace here, and what to expect."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from wassermix.cli.console import say
from wassermix.core.processes import rank, world_size
from wassermix.engine.plan import BEST, Plan
from wassermix.engine.settings import Config, build_config, config_hash
from wassermix.recipes import load_recipe

__all__ = ["expectation", "say_plan"]

NEAR = 3.0
"""A measured training says something of one that is at most so many times shorter or longer."""


def say_plan(plan: Plan, minutes: float) -> None:
    """Say how long the training will be and why, and what was measured of trainings like it."""
    if rank() != 0:
        return
    if plan.cost is None:
        say(f"the run that is there keeps its budget of {_passes(plan.config):,} passes")
        return
    here = "this machine" if world_size() == 1 else f"{world_size()} processes here"
    say(
        f"{here}: {plan.cost.passes_per_second:,.0f} forward+backward passes per second; {minutes:g} minutes "
        f"are {plan.cost.passes:,} of them, {plan.cost.epochs:.1f} epochs"
    )
    if plan.cost.epochs < 1:
        say(_too_short(minutes, minutes / plan.cost.epochs))
    say(expectation(plan.config))
    if _is_best_on_colour(plan.config):
        say(COLOUR)


COLOUR = (
    "warning: this recipe was chosen on digits; on colour images method=consistency was ahead of it at the "
    "one short length that was tried (docs/choose-a-method.md): compare both on held-out images"
)


def _is_best_on_colour(config: Config) -> bool:
    """Whether it is the recommended method with the architecture that it takes for colour images."""
    best = load_recipe(BEST)["method"]["name"]
    colour = config.model["name"] == "resnet20" and config.transform.flip  # it flips no grey images
    return bool(config.method["name"] == best and colour)


def _too_short(minutes: float, an_epoch: float) -> str:
    """That some samples will not be seen at all, and how long one look at each of them takes."""
    whole = f"{an_epoch:.0f}" if an_epoch >= 10 else f"{an_epoch:.2g}"
    return (
        f"warning: {minutes:g} minutes are less than one epoch: not every sample will be seen; one epoch "
        f"takes about {whole} minutes here, and a good training many"
    )


def expectation(config: Config) -> str:
    """What such a training reached where one was measured, and how that was; else that nothing was."""
    records = _measured()
    record = next((one for one in records if _is_measured(config, one)), None)
    rows = [] if record is None else [row for row in record["rows"] if _near(row, config)]
    if record is None or not rows:
        return _nothing(records)
    near = min(rows, key=lambda row: _ratio(row["passes"], _passes(config)))
    shares = [_share(cell) for cell in near["certified"][::2]]
    how = record["certify"]
    return (
        f"measured on {record['data']} at sigma {record['sigma']:g} after {_millions(near)} million passes "
        f"(mode {how['mode']}, n = {how['n']}, {how['images']} test images, 95% intervals): "
        f"certified {', '.join(shares)}"
    )


def _share(cell: dict[str, float]) -> str:
    """``94% (91% to 96%) at radius 0``."""
    return f"{cell['accuracy']:.0%} ({cell['low']:.0%} to {cell['high']:.0%}) at radius {cell['radius']:g}"


def _near(row: dict[str, Any], config: Config) -> bool:
    return _ratio(row["passes"], _passes(config)) <= NEAR


def _measured() -> list[dict[str, Any]]:
    """For each noise, the certified accuracy that the recommended recipe reached, by its length."""
    file = files("wassermix.recipes").joinpath("measured.json")
    records: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return records


def _is_measured(config: Config, record: dict[str, Any]) -> bool:
    """Whether data, noise and every other setting but length and seed are those that were measured."""
    measured = build_config(load_recipe(BEST), {"data": record["data"], "sigma": record["sigma"]})
    return _identity(config) == _identity(measured)


def _identity(config: Config) -> str:
    return config_hash(config.model_copy(update={"budget": None, "updates": None, "epochs": None, "seed": 0}))


def _nothing(records: list[dict[str, Any]]) -> str:
    known = [_lengths(record) for record in records if record["rows"]]
    measured = f"the recommended recipe was, {'; '.join(known)}" if known else "nor was any other"
    return f"what to expect of such a training was not measured; {measured}"


def _lengths(record: dict[str, Any]) -> str:
    """``on mnist at sigma 1 with 0.6 to 9.6 million passes``."""
    lengths = sorted(record["rows"], key=lambda row: float(row["passes"]))
    known = (
        f"{_millions(lengths[0])} to {_millions(lengths[-1])}" if len(lengths) > 1 else _millions(lengths[0])
    )
    return f"on {record['data']} at sigma {record['sigma']:g} with {known} million passes"


def _passes(config: Config) -> int:
    return int((config.budget or "passes:1").removeprefix("passes:"))


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)


def _millions(row: dict[str, Any]) -> str:
    return f"{row['passes'] / 1e6:.1f}"
