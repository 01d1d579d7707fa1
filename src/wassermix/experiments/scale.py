"""A table at the length of the literature: all rows grow by one factor, so that controls stay controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.registry import keyword_options
from wassermix.embed.registry import EMBEDDINGS
from wassermix.experiments.table import CertifyPlan, Table
from wassermix.recipes import load_recipe

__all__ = ["at_paper_scale"]

LENGTHS = ("batch_size", "epochs", "updates", "budget", "embed.epochs")
"""What a reduced table overrides to be short."""


def at_paper_scale(table: Table) -> Table:
    """The same rows by the recipes at paper scale, each longer by one factor, certified with n = 100,000.

    As the field does, 500 images or more are certified, and all are attacked.
    Rows that took as many updates or passes as one another still do, and one that took twice as many still
    takes twice as many. ``table.longer`` is the factor; without it, the ratio of the recipes' epochs. An
    embedding is fitted for as many epochs as it is by default, or as the table says if these are more.
    """
    if "/reduced/" not in table.recipe:
        raise InputError(f"recipe '{table.recipe}' has one scale only; leave --scale out")
    rows = {row: _full_row(table, row) for row in table.rows}
    common = {key: value for key, value in table.common.items() if key not in LENGTHS} | table.at_paper
    changed = {
        "recipe": _full_name(table.recipe),
        "common": common,
        "rows": rows,
        "certify": _fully_certified(table.certify),
        "attacks": tuple(replace(attack, images="all") for attack in table.attacks),
    }
    return table.model_copy(update=changed)


def _fully_certified(plan: CertifyPlan | None) -> CertifyPlan | None:
    if plan is None:
        return None
    return plan.model_copy(update={"n": 100_000, "images": max(plan.images, 500)})


def _full_row(table: Table, row: str) -> dict[str, Any]:
    own, name = table.rows[row], table.recipe_of(row)
    if table.members_of(row) is not None:
        return own
    kept = {key: value for key, value in own.items() if key not in LENGTHS}
    if "augment.search_share" in own:  # a share is searched to be short; the paper scores every sample
        kept["augment.search_share"] = 1.0
    if "recipe" in own:
        kept["recipe"] = _full_name(name)
    if "/reduced/" not in name:
        raise InputError(f"row '{row}': recipe '{name}' has one scale only; leave --scale or the row out")
    short, full = load_recipe(name), load_recipe(_full_name(name))
    given = {**table.common, **own}
    batch, full_batch = given.get("batch_size", short["batch_size"]), full["batch_size"]
    if "batch_size" in own:  # a row about the size of its batches
        usual = table.common.get("batch_size", short["batch_size"])
        kept["batch_size"] = full_batch = max(1, round(full_batch * batch / usual))
    factor = table.longer or full["epochs"] / short["epochs"]
    return {**kept, **_scaled(given, factor, batch / full_batch), **_fitted(given, full)}


def _fitted(given: Mapping[str, Any], full: Mapping[str, Any]) -> dict[str, int]:
    """How long the embedding is fitted: never shorter than at reduced scale."""
    if "embed.epochs" not in given:
        return {}
    section = full.get("embed") or {}
    embed = given.get("embed", section)
    name = embed["name"] if isinstance(embed, Mapping) else embed
    default = keyword_options(EMBEDDINGS.find(name))["epochs"][1]
    return {"embed.epochs": max(given["embed.epochs"], section.get("epochs", default))}


def _scaled(given: Mapping[str, Any], factor: float, smaller: float) -> dict[str, Any]:
    """The length that counts, ``factor`` times as long; ``smaller`` is the old batch over the new one."""
    if given.get("budget") is not None:
        passes = float(str(given["budget"]).removeprefix("passes:"))
        return {"budget": f"passes:{round(factor * passes)}"}
    if given.get("updates") is not None:
        return {"updates": max(1, round(factor * smaller * given["updates"]))}
    return {"epochs": max(1, round(factor * given["epochs"]))} if given.get("epochs") is not None else {}


def _full_name(recipe: str) -> str:
    return recipe.replace("/reduced/", "/")
