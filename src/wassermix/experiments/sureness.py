"""The distribution of p_A that a table's record holds, as far as it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["sure_cells"]


def sure_cells(record: Mapping[str, Any], row: str) -> list[dict[str, float]]:
    """The share of a row's images with p_A of at least each p, with its band; empty where it was not kept.

    Where a class is picked first (mode ``fixed``), records that kept no runs counted an abstention as the
    label's: their share at p = 0.5 is too high by that and left out; accuracy at radius 0 tells the same.
    """
    cells: list[dict[str, float]] = record["results"][row].get("p_a") or []
    early = row not in record.get("runs", {}) and (record.get("certify") or {}).get("mode") == "fixed"
    return [cell for cell in cells if not early or cell["p"] > 0.5]
