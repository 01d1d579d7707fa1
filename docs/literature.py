"""The part of docs/choose-a-method.md that stands beside the literature: judged by as many draws as there."""

from __future__ import annotations

from typing import Any

from cells import levels_told, line, sure_band, sure_heads, sure_shares

from wassermix.experiments.page import STEP


def judged_alike(records: dict[str, Any]) -> list[str]:
    """The full-length trainings and the recipe with as many draws as the literature takes."""
    rows = records["results"]
    if not rows:
        return []
    plan, published = records["certify"], records["published"]
    radii = [cell["radius"] for cell in next(iter(rows.values()))["certified"] if cell["radius"] <= LARGEST]
    levels = levels_told(rows)
    halves = [50 * (cell["high"] - cell["low"]) for row in rows.values() for cell in row["certified"]]
    lines = [
        f"With the literature's n = {plan['n']:,} (`wassermix reproduce records`; mode `{plan['mode']}`, "
        f"{plan['images']} test digits: ± {min(halves):.1f} to {max(halves):.1f} points; one seed)."
        f"{sure_band(rows)}",
        "",
        line(["row", "passes", *sure_heads(levels), *(f"r = {r:g}" for r in radii)]),
        line(["---"] * (2 + len(levels) + len(radii))),
    ]
    for name, row in rows.items():
        told = {cell["radius"]: 100 * cell["accuracy"] for cell in row["certified"]}
        cells = [f"{told[r]:.1f}" if r in told else "" for r in radii]
        lines.append(line([name, f"{row['passes'] / 1e6:.1f} M", *sure_shares(row, levels), *cells]))
    for name, row in published.items():
        cells = [f"{value:.1f}" for value in row["certified"][: len(radii)]]
        cells += [""] * (len(radii) - len(cells))
        empty = [""] * len(levels)
        lines.append(line([f"{name}, published", f"{row['passes'] / 1e6:.1f} M", *empty, *cells]))
    return [*lines, "", *_reproduced(rows, published), *_to_smoothmix(rows, published)]


ASKED = 1.5
"""Points: how near a training at full length should come to its publication at every radius."""


def _reproduced(rows: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """How far each training at full length is from its own publication."""
    both = [(name, rows[name], published[name]) for name in published if name in rows]
    return [told for name, row, theirs in both for told in _nearness(name, row, theirs)]


def _nearness(name: str, row: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    cells, told = row["certified"], theirs["certified"]
    gaps = _gaps([cell["accuracy"] for cell in cells], told)
    far = max(range(len(gaps)), key=lambda place: abs(gaps[place]))
    within = sum(abs(gap) <= ASKED for gap in gaps)
    return [
        f"`{name}` at its published length is within {ASKED:g} points of its publication at {within} of "
        f"{len(gaps)} radii; the furthest is {gaps[far]:+.1f}, at r = {cells[far]['radius']:g}, where the "
        f"choice of digits alone is ± {_half(cells[far]):.1f}. "
        f"{_mean_radii([cell['accuracy'] for cell in cells], told)}",
        "",
    ]


def _gaps(ours: list[float], published: list[float]) -> list[float]:
    """Points between our shares and the per cents that were published, radius by radius."""
    return [100 * share - told for share, told in zip(ours, published)]


def _mean_radii(ours: list[float], published: list[float]) -> str:
    """The mean radius on the published grid: ``STEP`` times the sum of the shares at radii above 0."""
    return f"The mean radius, each rounded down to the grid of these radii, is {_two_means(ours, published)}."


def _two_means(ours: list[float], published: list[float]) -> str:
    own, theirs = STEP * sum(ours[1:]), STEP * sum(published[1 : len(ours)]) / 100
    return f"{own:.3f}, {theirs:.3f} as published ({own - theirs:+.3f})"


def whole_set(record: dict[str, Any], records: dict[str, Any]) -> list[str]:
    """Trainings judged on all test digits, estimated: 500 of them are a lucky choice or not."""
    published = records.get("published", {})
    lines = []
    for name, row in record["results"].items():
        beside = [name] if name in published else [one for one in RECORDS if one in published]
        lines += [_estimated(name, row), "", _grid_of_all(row, {one: published[one] for one in beside})]
        lines += [*(_beside(row["radii"], one, published[one]) for one in beside), ""]
    return lines


RECORDS = ("smoothmix-1.0", "catrs-1.0")
"""The published rows that the recipe is set against."""


def _estimated(name: str, row: dict[str, Any]) -> str:
    return (
        f"`{name}` on all {row['of']:,} test digits, estimated from the {row['images']} that were certified "
        "in full and from certificates of few draws for every one (`python -m benchmarks.records_whole`), in "
        "per cent with 95% intervals:"
    )


def _grid_of_all(row: dict[str, Any], beside: dict[str, Any]) -> str:
    """A table of the estimates, a column for each radius, above the published rows."""
    cells = row["radii"]
    told = [line(["", *(f"r = {cell['radius']:g}" for cell in cells)]), line(["---"] * (1 + len(cells)))]
    told.append(line(["all digits", *(f"{100 * cell['all']:.1f}" for cell in cells)]))
    told.append(line(["interval", *(_interval(cell) for cell in cells)]))
    for name, theirs in beside.items():
        told.append(
            line([f"{name}, published", *(f"{one:.1f}" for one in theirs["certified"][: len(cells)])])
        )
    return "\n".join([*told, ""])


def _interval(cell: dict[str, float]) -> str:
    return f"{100 * cell['low']:.1f} to {100 * cell['high']:.1f}"


def _beside(cells: list[dict[str, float]], name: str, theirs: dict[str, Any]) -> str:
    """At how many radii the estimates are near a published row, and where they are lowest."""
    shares, told = [cell["all"] for cell in cells], theirs["certified"]
    gaps = _gaps(shares, told)
    least = min(range(len(gaps)), key=lambda place: gaps[place])
    held = sum(100 * cell["low"] <= one <= 100 * cell["high"] for cell, one in zip(cells, told))
    near = sum(abs(gap) <= ASKED for gap in gaps)
    above = sum(gap >= -TARGET for gap in gaps)
    return (
        f"Beside published {name} that is within {ASKED:g} points at {near} of {len(gaps)} radii and at most "
        f"{TARGET:g} point below at {above} (lowest {gaps[least]:+.1f}, at r = {cells[least]['radius']:g}); "
        f"the interval holds the published number at {held}. {_mean_radii(shares, told)}"
    )


TARGET = 1.0
"""Points: how little below SmoothMix's published row the recipe should be at every radius."""


def _to_smoothmix(rows: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """How far each length of the recipe is from SmoothMix's published row, where both are known."""
    theirs = published.get("smoothmix-1.0")
    own = {name: row for name, row in rows.items() if name.startswith("recommended")}
    if theirs is None:
        return []
    others = {name: published[name] for name in OTHERS if name in published}
    return [told for name in own for told in _distance(name, own[name], theirs, others)]


OTHERS = ("smoothadv-1.0", "consistency-1.0", "catrs-1.0")
"""Published rows that each length of the recipe is set against, more shortly."""


def _distance(name: str, row: dict[str, Any], theirs: dict[str, Any], others: dict[str, Any]) -> list[str]:
    cells, shares = row["certified"], [cell["accuracy"] for cell in row["certified"]]
    gaps = _gaps(shares, theirs["certified"])
    least = min(range(len(gaps)), key=lambda place: gaps[place])
    told = ", ".join(f"{gap:+.1f} at r = {cell['radius']:g}" for gap, cell in zip(gaps, cells))
    return [
        f"`{name}` took one part in {theirs['passes'] / row['passes']:.0f} of published SmoothMix's passes; "
        f"its distance to that in points: {told}. The lowest is {gaps[least]:+.1f}, at r = "
        f"{cells[least]['radius']:g}, where the choice of digits alone is ± {_half(cells[least]):.1f}"
        f"{_told_from_none(gaps[least], _half(cells[least]))}. {_mean_radii(shares, theirs['certified'])}",
        "",
        *(_extremes(cells, name, one) for name, one in others.items()),
        "",
    ]


def _extremes(cells: list[dict[str, float]], name: str, theirs: dict[str, Any]) -> str:
    """Where a row is furthest below and above a published one, in points, and the mean radii."""
    shares = [cell["accuracy"] for cell in cells]
    gaps = _gaps(shares, theirs["certified"])
    low, high = (choose(range(len(gaps)), key=lambda place: gaps[place]) for choose in (min, max))
    return (
        f"- Beside published {name} ({theirs['passes'] / 1e6:.0f} M passes): {gaps[low]:+.1f} at r = "
        f"{cells[low]['radius']:g} at the lowest, {gaps[high]:+.1f} at r = {cells[high]['radius']:g} at the "
        f"highest; mean radius {_two_means(shares, theirs['certified'])}."
    )


def _half(cell: dict[str, float]) -> float:
    """Half the width of a cell's interval, in points."""
    return 50 * (cell["high"] - cell["low"])


def _told_from_none(gap: float, half: float) -> str:
    return "" if abs(gap) > half else ": these digits cannot tell it from no distance at all"


LARGEST = 2.5
"""The largest radius that the published tables tell."""
