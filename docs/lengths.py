"""The first table of docs/choose-a-method.md: every method's average radius by the length of its training."""

from __future__ import annotations

from typing import Any

from cells import line

METHODS = ("recipe", "smoothadv", "gaussian + mixup", "smoothmix", "consistency", "gaussian", "catrs")
LENGTHS = ("0.6 M", "2.4 M", "9.6 M", "21.6 M")


def by_length(rows: dict[str, Any]) -> list[str]:
    """A line for each method, a column for each number of passes, the largest of each column in bold."""
    cells = {length: _column(rows, length) for length in LENGTHS}
    told = [name for name in METHODS if any(name in column for column in cells.values())]
    if not told:
        return []
    heads = ["average radius after", *(f"{length.replace(' M', '')} million passes" for length in LENGTHS)]
    return [
        line(heads),
        line(["---"] * len(heads)),
        *(line([name, *(_cell(cells[length], name) for length in LENGTHS)]) for name in told),
        "",
    ]


def _column(rows: dict[str, Any], length: str) -> dict[str, float]:
    """The average radii of one length, as the table shows them."""
    return {name: round(row["acr"], 3) for name in METHODS if (row := rows.get(f"{name} at {length}"))}


def _cell(column: dict[str, float], name: str) -> str:
    if name not in column:
        return ""
    told = f"{column[name]:.3f}"
    return f"**{told}**" if column[name] == max(column.values()) else told
