"""The recommendation in docs/choose-a-method.md: every trial of the search, the curve, and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wassermix.experiments.page import STEP
from wassermix.experiments.sureness import sure_cells

BEGIN, END = "<!-- recipe: begin -->", "<!-- recipe: end -->"
SHOWN = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Radii of the short tables."""
LEVELS = (0.5, 0.9, 0.99)
"""Of the distribution of p_A the tables tell these."""


def write_recommendation(results: Path, docs: Path) -> None:
    """Put what was measured between the page's marks, and draw the curve, as far as there are records."""
    short, long, scaling, equal, records = (
        _read(results / f"{name}.json")
        for name in ("recipe-search", "recipe-search-long", "scaling", "equal-compute", "records")
    )
    page = docs / "choose-a-method.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [
        *_trials(short),
        *_trials(long),
        *_traded(long),
        *_curve(scaling, equal),
        *_judged_alike(records),
    ]
    page.write_text("\n".join([before + BEGIN, *lines, END]) + after)
    if scaling["results"]:
        draw_scaling(scaling, equal, records, docs / "scaling.svg")
        write_measured(scaling, docs.parent / "src" / "wassermix" / "recipes" / "measured.json")


def write_measured(scaling: dict[str, Any], path: Path) -> None:
    """What the recipe reached at each length, for `wassermix train DATA --minutes` to tell beforehand."""
    rows = [
        {"passes": round(row["passes"]), "acr": row["acr"], "certified": row["certified"]}
        for name, row in scaling["results"].items()
        if name.startswith("recipe at ")
    ]
    record = {"data": "mnist", "sigma": 1.0, "certify": scaling["certify"], "rows": rows}
    path.write_text(json.dumps(record, indent=1) + "\n")


def _read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"results": {}}
    for name, row in loaded["results"].items():
        row["p_a"] = sure_cells(loaded, name)
    return loaded


def _trials(record: dict[str, Any]) -> list[str]:
    rows = record["results"]
    if not rows:
        return []
    plan, first = record["certify"], next(iter(rows.values()))
    passes = int(record["common"]["budget"].partition(":")[2])
    reach = max(cell["radius"] for cell in first["certified"] if cell["accuracy"] > 0)
    levels = _levels(rows)
    heads = ["trial", "updates", "average radius", "difference (95%)", *_heads(levels)]
    return [
        f"What was tried (`wassermix reproduce {record['table']}`): {passes:,} passes each, sigma 1.0, mode "
        f"`{plan['mode']}` with n = {plan['n']} on {plan['images']} held-out digits, one seed. The "
        f"difference is that of the average radius to `{record['control']}`, on the same images; radii above "
        f"{reach:g} cannot be proved with so few draws.{_band(rows)}",
        "",
        _line([*heads, *(f"r = {r:g}" for r in SHOWN)]),
        _line(["---"] * (len(heads) + len(SHOWN))),
        *(
            _line(_trial(name, row, record["against_control"].get(name), levels))
            for name, row in rows.items()
        ),
        "",
    ]


def _traded(record: dict[str, Any]) -> list[str]:
    """What a little of consistency's terms gains in average radius, and what it gives up for that."""
    rows, gap = record["results"], record.get("against_control", {}).get(RIVAL, {}).get("acr_difference")
    if gap is None:
        return []
    ours, theirs = (
        {cell["radius"]: 100 * cell["accuracy"] for cell in rows[name]["certified"]}
        for name in (record["control"], RIVAL)
    )
    changes = [f"{theirs[radius] - ours[radius]:+.1f} at r = {radius:g}" for radius in SHOWN]
    return [
        "With a little of consistency's terms (`method.weight=2 method.entropy_weight=0.2`) the average "
        f"radius is higher by {gap['mean']:.3f} ({gap['low']:+.3f} to {gap['high']:+.3f}), which by the rule "
        "in the table's file makes it the recipe at this length. It is an option, not the default, because "
        f"it trades small radii for large ones ({', '.join(changes)} points): an average radius rewards "
        "giving up hard images. Take it where large radii matter and there is time for a million passes.",
        "",
    ]


RIVAL = "recipe + little consistency"


def _levels(rows: dict[str, Any]) -> list[float]:
    """The levels of p that some row tells; early rows tell none."""
    told = {cell["p"] for row in rows.values() for cell in row.get("p_a", ())}
    return [p for p in LEVELS if p in told]


def _heads(levels: list[float]) -> list[str]:
    return [f"p_A >= {p:g}" for p in levels]


def _sure(row: dict[str, Any], levels: list[float]) -> list[str]:
    """The share of images with p_A of at least each level in per cent; empty where the row does not tell."""
    told = {cell["p"]: f"{100 * cell['share']:.1f}" for cell in row.get("p_a", ())}
    return [told.get(p, "") for p in levels]


def _band(rows: dict[str, Any]) -> str:
    """What the columns of p_A are, and how far they may be off."""
    cells = [cell for row in rows.values() for cell in row.get("p_a", ()) if cell["p"] in LEVELS]
    if not cells:
        return ""
    below, above = (100 * max(abs(cell[end] - cell["share"]) for cell in cells) for end in ("low", "high"))
    return (
        " p_A is the probability of an image's label under noise; its columns give the share of images, in "
        f"per cent, where it is at least so large. The 95% band for all p at once reaches {below:.1f} points "
        f"or less down and {above:.1f} or less up."
    )


def _trial(name: str, row: dict[str, Any], compared: dict[str, Any] | None, levels: list[float]) -> list[str]:
    gap = compared["acr_difference"] if compared else None
    said = f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})" if gap else ""
    return [name, f"{row['updates']:.0f}", f"{row['acr']:.3f}", said, *_sure(row, levels), *_cells(row)]


def _cells(row: dict[str, Any]) -> list[str]:
    found = {cell["radius"]: cell["accuracy"] for cell in row["certified"]}
    return [f"{100 * found[r]:.1f}" for r in SHOWN]


def _curve(scaling: dict[str, Any], equal: dict[str, Any]) -> list[str]:
    if not scaling["results"]:
        return []
    plan, rows = scaling["certify"], {**scaling["results"], **_named(equal)}
    levels = _levels(rows)
    lines = [
        f"On test digits (`wassermix reproduce scaling` and `equal-compute`; mode `{plan['mode']}`, "
        f"n = {plan['n']}, {plan['images']} images).{_band(rows)}",
        "",
        _line(["row", "passes", "average radius", *_heads(levels), *(f"r = {r:g}" for r in SHOWN)]),
        _line(["---"] * (3 + len(levels) + len(SHOWN))),
    ]
    for name, row in rows.items():
        cost = [f"{row['passes'] / 1e6:.1f} M", f"{row['acr']:.3f}"]
        lines.append(_line([name, *cost, *_sure(row, levels), *_cells(row)]))
    return [
        *lines,
        "",
        _seeds(equal),
        "",
        "![Average radius against passes, and certified accuracy beside the literature](scaling.svg)",
        "",
    ]


def _seeds(equal: dict[str, Any]) -> str:
    spread = max((row.get("acr_seed_sd", 0.0) for row in equal["results"].values()), default=0.0)
    return (
        "The recipe has one seed; where a method has three, their average radii have a standard deviation of "
        f"up to {spread:.3f}. So few draws cut every radius short, the large ones most: our rows may be read "
        "beside one another, not beside published ones."
    )


def _judged_alike(records: dict[str, Any]) -> list[str]:
    """The full-length trainings and the recipe with as many draws as the literature takes."""
    rows = records["results"]
    if not rows:
        return []
    plan, published = records["certify"], records["published"]
    radii = [cell["radius"] for cell in next(iter(rows.values()))["certified"] if cell["radius"] <= LARGEST]
    levels = _levels(rows)
    halves = [50 * (cell["high"] - cell["low"]) for row in rows.values() for cell in row["certified"]]
    lines = [
        f"With the literature's n = {plan['n']:,} (`wassermix reproduce records`; mode `{plan['mode']}`, "
        f"{plan['images']} test digits: ± {min(halves):.1f} to {max(halves):.1f} points; one seed)."
        f"{_band(rows)}",
        "",
        _line(["row", "passes", *_heads(levels), *(f"r = {r:g}" for r in radii)]),
        _line(["---"] * (2 + len(levels) + len(radii))),
    ]
    for name, row in rows.items():
        told = {cell["radius"]: 100 * cell["accuracy"] for cell in row["certified"]}
        cells = [f"{told[r]:.1f}" if r in told else "" for r in radii]
        lines.append(_line([name, f"{row['passes'] / 1e6:.1f} M", *_sure(row, levels), *cells]))
    for name, row in published.items():
        cells = [f"{value:.1f}" for value in row["certified"][: len(radii)]]
        cells += [""] * (len(radii) - len(cells))
        empty = [""] * len(levels)
        lines.append(_line([f"{name}, published", f"{row['passes'] / 1e6:.1f} M", *empty, *cells]))
    return [*lines, "", *_to_smoothmix(rows, published)]


def _to_smoothmix(rows: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """How far each length of the recipe is from SmoothMix's published row, where both are known."""
    theirs = published.get("smoothmix-1.0")
    own = {name: row for name, row in rows.items() if name.startswith("recommended")}
    return [] if theirs is None else [line for name in own for line in _distance(name, own[name], theirs)]


def _distance(name: str, row: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    pairs = list(zip(row["certified"], theirs["certified"]))
    gaps = [100 * cell["accuracy"] - told for cell, told in pairs]
    radii = [cell["radius"] for cell, _ in pairs]
    least = min(range(len(gaps)), key=lambda place: gaps[place])
    told = ", ".join(f"{gap:+.1f} at r = {radius:g}" for gap, radius in zip(gaps, radii))
    cell, part = pairs[least][0], theirs["passes"] / row["passes"]
    return [
        f"`{name}` took one part in {part:.0f} of published SmoothMix's passes; its distance to that in "
        f"points: {told}. The lowest is {gaps[least]:+.1f}, at r = {cell['radius']:g}, where the choice of "
        f"digits alone is ± {50 * (cell['high'] - cell['low']):.1f}.",
        "",
    ]


LARGEST = 2.5
"""The largest radius that the published tables tell."""


def _named(equal: dict[str, Any]) -> dict[str, Any]:
    return {f"{name} at 0.6 M": row for name, row in equal["results"].items() if "geodesic" not in name}


def draw_scaling(scaling: dict[str, Any], equal: dict[str, Any], records: dict[str, Any], path: Path) -> None:
    """Left: average radius against passes, all judged alike. Right: beside the literature, with its n."""
    matplotlib.rcParams["svg.hashsalt"] = "wassermix"
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_passes(left, {**scaling["results"], **_named(equal)}, scaling["certify"])
    if records["results"]:
        _draw_radii(right, records)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def _draw_passes(axes: Axes, rows: dict[str, Any], plan: dict[str, Any]) -> None:
    """One line for each method, a point for each length that it was trained to."""
    methods: dict[str, list[tuple[float, float]]] = {}
    for name, row in rows.items():
        methods.setdefault(name.rpartition(" at ")[0], []).append((row["passes"], row["acr"]))
    for name, points in methods.items():
        bold = name == "recipe"
        axes.plot(*zip(*sorted(points)), "o-", markersize=4, linewidth=2 if bold else 1, label=name)
    axes.set(
        xscale="log",
        xlabel="forward+backward passes",
        ylabel=f"average certified radius, n = {plan['n']:,}",
        title="our trainings, judged alike",
    )
    axes.legend(frameon=False, fontsize=7)


def _short(name: str) -> str:
    """A row's name without its length, which the legend tells."""
    return name.partition(" at ")[0]


def _draw_radii(axes: Axes, records: dict[str, Any]) -> None:
    """Certified accuracy against the radius at sigma 1.0: our rows whole, published ones dashed."""
    for name, row in records["results"].items():
        if "1.0" in name:
            cells = [(cell["radius"], 100 * cell["accuracy"]) for cell in row["certified"]]
            axes.plot(
                *zip(*cells), "-", linewidth=2, label=f"{_short(name)}, ours, {row['passes'] / 1e6:.1f} M"
            )
    for name, row in records["published"].items():
        if "1.0" in name:
            cells = [(STEP * place, value) for place, value in enumerate(row["certified"])]
            axes.plot(
                *zip(*cells), "--", linewidth=1, label=f"{name}, published, {row['passes'] / 1e6:.0f} M"
            )
    axes.set(
        xlabel="l2 radius",
        ylabel="certified, per cent",
        title=f"beside the literature, n = {records['certify']['n']:,}",
    )
    axes.legend(frameon=False, fontsize=7)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
