"""Tables of the recipe and its rivals by the length of training: average radii, and the recipe's lead."""

from __future__ import annotations

from typing import Any

from cells import difference, line

from wassermix.experiments.gather import compare_runs

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


def leads_by_length(runs: dict[str, Any]) -> list[str]:
    """The recipe's average radius less each rival's at as many passes, image by image, with its interval."""
    rivals, lengths = METHODS[1:], LENGTHS[1:]
    heads = ["the recipe less", *(f"{length.replace(' M', '')} million passes" for length in lengths)]
    rows = [[name, *(_lead(runs, name, length) for length in lengths)] for name in rivals]
    return [line(heads), line(["---"] * len(heads)), *(line(row) for row in rows)]


def _lead(runs: dict[str, Any], name: str, length: str) -> str:
    ours, theirs = (runs.get(f"{one} at {length}") for one in ("recipe", name))
    return difference(compare_runs(ours, theirs).get("acr_difference")) if ours and theirs else ""
