"""Cells of the tables in docs/choose-a-method.md: shares of p_A with their band, differences, lines."""

from __future__ import annotations

from typing import Any

LEVELS = (0.5, 0.9, 0.99)
"""Of the distribution of p_A the tables tell these."""


def levels_told(rows: dict[str, Any]) -> list[float]:
    """The levels of p that some row tells; early rows tell none."""
    told = {cell["p"] for row in rows.values() for cell in row.get("p_a", ())}
    return [p for p in LEVELS if p in told]


def sure_heads(levels: list[float]) -> list[str]:
    """A head for each level of p_A."""
    return [f"p_A >= {p:g}" for p in levels]


def sure_shares(row: dict[str, Any], levels: list[float]) -> list[str]:
    """The share of images with p_A of at least each level in per cent; empty where the row does not tell."""
    told = {cell["p"]: f"{100 * cell['share']:.1f}" for cell in row.get("p_a", ())}
    return [told.get(p, "") for p in levels]


def sure_band(rows: dict[str, Any]) -> str:
    """What the columns of p_A are, and how far they may be off."""
    cells = [cell for row in rows.values() for cell in row.get("p_a", ()) if cell["p"] in LEVELS]
    if not cells:
        return ""
    below, above = (100 * max(abs(cell[end] - cell["share"]) for cell in cells) for end in ("low", "high"))
    reach = f"{below:.1f} points or less down and {above:.1f} or less up"
    return f" The 95% band of p_A, for all p at once, reaches {reach}."


def difference(gap: dict[str, float] | None) -> str:
    """A mean difference with its interval; empty where there is none."""
    return f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})" if gap else ""


def line(cells: list[str]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"
