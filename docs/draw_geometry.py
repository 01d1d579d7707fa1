"""The tables of docs/vectors.md on what data sets look like to transport, from results/geometry.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from page import fill, table

HEADS = [
    "data",
    "embedding",
    "dimensions",
    "pair_size",
    "cost",
    "spread",
    "nearest real sample",
    "third class",
]


def draw(record: dict[str, Any], docs: Path) -> None:
    """Each data set at its largest pair_size; the blur of entropic plans."""
    rows = [row(name, one) for name, found in record["data"].items() for one in largest(found)]
    fill(docs / "vectors.md", "geometry", table(HEADS, rows))
    blur = [[name, f"{one['image']:.2f}", f"{one['spread']:.2f}"] for name, one in record["blur"].items()]
    heads = ["pairs", "variance of the transported points", "spread half-way"]
    fill(docs / "vectors.md", "blur", table(heads, blur))


def largest(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The row of the largest pair_size for each embedding."""
    return list({one["embed"]: one for one in sorted(found, key=lambda one: one["pair_size"])}.values())


def row(name: str, one: dict[str, Any]) -> list[str]:
    """One line: exact pairs, and random ones in brackets."""
    third = one["intrusion"]
    shares = "-" if third is None else f"{third['exact']:.1%} ({third['random']:.1%})"
    return [
        name, one["embed"], str(one["dim"]), str(one["pair_size"]), f"{one['cost']['exact']:.2f}",
        f"{one['spread']['exact']:.2f} ({one['spread']['random']:.2f})",
        f"{one['nearest']['exact']:.2f} ({one['nearest']['random']:.2f})", shares,
    ]  # fmt: skip
