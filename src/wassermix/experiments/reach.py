"""How far the draws of a table's certificates reach, also for records that do not say it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from wassermix.certify import CertifySettings
from wassermix.certify.rule import furthest
from wassermix.core.errors import InputError
from wassermix.recipes import read_recipe

__all__ = ["row_reach"]

Record = Mapping[str, Any]


def row_reach(record: Record, row: str) -> float:
    """The radius beyond which a row's draws prove nothing of any network; infinite where it is not known.

    Records of early versions do not say it: it follows from how they certified and the row's noise.
    """
    found = record["results"][row]
    if "reach" in found or not found.get("certified") or not record.get("certify"):
        return float(found.get("reach", math.inf))
    try:
        return furthest(CertifySettings.from_dict({**record["certify"], "sigma": _sigma(record, row)}))
    except InputError:  # a recipe or a mode of the user's own that is not here
        return math.inf


def _sigma(record: Record, row: str) -> float:
    """The noise that a row was trained with: its own, the table's, or its recipe's."""
    rows = record.get("rows", {})
    own = rows.get(rows.get(row, {}).get("ensemble", row), {})
    given = {**record.get("common", {}), **own}
    for key in ("sigma", "method.sigma"):
        if key in given:
            return float(given[key])
    recipe = read_recipe(str(given.get("recipe", record["recipe"])))
    return float(recipe.get("method", {}).get("sigma", 0.0))
