"""The recommendation in docs/choose-a-method.md: what it gains, the curve, the literature, every trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cells import difference, levels_told, line, sure_band, sure_heads, sure_shares
from draw_scaling import draw_scaling
from lengths import by_length
from literature import judged_alike, whole_set

from wassermix.experiments.gather import compare_runs
from wassermix.experiments.sureness import sure_cells

BEGIN, END = "<!-- recipe: begin -->", "<!-- recipe: end -->"
SHOWN = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Radii of the short tables."""


TABLES = ("scaling", "scaling-half", "equal-compute", "records")
TRIALS = ("recipe-search", "recipe-changes", "recipe-search-long")


def write_recommendation(results: Path, docs: Path) -> None:
    """Put what was measured between the page's marks, and draw the curve, as far as there are records."""
    scaling, half, equal, records = (_read(results / f"{name}.json") for name in TABLES)
    tried = [_read(results / f"{name}.json") for name in TRIALS]
    page = docs / "choose-a-method.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = _in_order({**_named(equal), **scaling["results"]})  # of a row in both tables, the newer one
    lines = [
        *_gain(scaling),
        *by_length(rows),
        *_curve(scaling, rows),
        *judged_alike(records),
        *whole_set(_read(results / "records-whole.json"), records),
        *_colour(_read(results / "scaling-colour.json")),
        "### What was tried",
        "",
        *(told for record in tried for told in _trials(record)),
        *_traded(tried[-1]),
    ]
    page.write_text("\n".join([before + BEGIN, *lines, END]) + after)
    if scaling["results"]:
        draw_scaling(scaling, rows, records, docs / "scaling.svg")
        write_measured([half, scaling], docs.parent / "src" / "wassermix" / "recipes" / "measured.json")


def write_measured(tables: list[dict[str, Any]], path: Path) -> None:
    """What the recipe reached at each length, for `wassermix train DATA --minutes` to tell beforehand."""
    path.write_text(json.dumps([_reached(table) for table in tables if table["results"]], indent=1) + "\n")


def _reached(table: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"passes": round(row["passes"]), "acr": row["acr"], "certified": row["certified"]}
        for name, row in table["results"].items()
        if name.startswith("recipe at ")
    ]
    sigma = table["common"]["method.sigma"]
    return {"data": "mnist", "sigma": sigma, "certify": table["certify"], "rows": rows}


def _read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"results": {}}
    for name, row in loaded["results"].items():
        row["p_a"] = sure_cells(loaded, name)
    return loaded


def _gain(scaling: dict[str, Any]) -> list[str]:
    """What the recipe gains over each rival at as many passes, and what the words of the tables mean."""
    ours = scaling["results"].get(OURS)
    if ours is None:
        return [WORDS, ""]
    gaps = {name: gap for name in RIVALS if (gap := _to_recipe(scaling, f"{name} at 2.4 M")) is not None}
    told = [
        f"{-gap['mean']:+.3f} ({-gap['high']:+.3f} to {-gap['low']:+.3f}) over {name}"
        for name, gap in gaps.items()
    ]
    gained = [
        f"At 2.4 million passes on MNIST at sigma 1.0 ({ours['minutes']:.0f} minutes on one core) its "
        f"average certified radius is {ours['acr']:.2f}: {', '.join(told)} (test digits, 95% intervals; with "
        "one seed they speak of these networks).",
        "",
    ]
    return [*gained, WORDS, ""]


OURS = "recipe at 2.4 M"
RIVALS = ("gaussian", "gaussian + mixup", "consistency", "smoothadv", "smoothmix", "catrs")
"""Whom the sentence above the tables compares the recipe with, at as many passes."""
WORDS = (
    "In the tables `best` is called *recipe*, in `records` *recommended*; the search found it as *adversary "
    "at rate 0.025*. *p_A* is the probability of an image's label under noise: its columns give the share of "
    "images, in per cent, where it is at least so large. Columns of radii give certified accuracy in per "
    "cent."
)


def _to_recipe(scaling: dict[str, Any], name: str) -> dict[str, float] | None:
    """A row's average radius less that of the recipe at as many passes, image by image."""
    runs, ours = scaling.get("runs", {}), _as_long(scaling["results"], name)
    if name == ours or not {name, ours} <= runs.keys():
        return None
    gap: dict[str, float] | None = compare_runs(runs[name], runs[ours]).get("acr_difference")
    return gap


def _as_long(rows: dict[str, Any], name: str) -> str:
    """The recipe's row with as many passes as the row ``name``; an empty name where there is none."""
    passes = rows.get(name, {}).get("passes", 0)
    ours = (one for one in rows if one.startswith("recipe at "))
    return next((one for one in ours if abs(rows[one]["passes"] - passes) <= ROUNDING * passes), "")


ROUNDING = 0.01
"""A budget ends with a whole update: passes are the same within so much."""


def _trials(record: dict[str, Any]) -> list[str]:
    rows = record["results"]
    if not rows:
        return []
    plan, first = record["certify"], next(iter(rows.values()))
    passes = int(record["common"]["budget"].partition(":")[2])
    reach = max(cell["radius"] for cell in first["certified"] if cell["accuracy"] > 0)
    levels = levels_told(rows)
    heads = ["trial", "updates", "average radius", "difference (95%)", *sure_heads(levels)]
    return [
        f"`wassermix reproduce {record['table']}`: {passes:,} passes each, sigma 1.0, mode "
        f"`{plan['mode']}` with n = {plan['n']} on {plan['images']} held-out digits, "
        f"{_number_of_seeds(rows)}. The difference is that of the average radius to `{record['control']}`, "
        "on the same images; radii above "
        f"{reach:g} cannot be proved with so few draws.{sure_band(rows)}",
        "",
        line([*heads, *(f"r = {r:g}" for r in SHOWN)]),
        line(["---"] * (len(heads) + len(SHOWN))),
        *(line(_trial(name, row, record["against_control"].get(name), levels)) for name, row in rows.items()),
        "",
    ]


def _number_of_seeds(rows: dict[str, Any]) -> str:
    """``one seed``, and which rows have more."""
    more = [f"*{name}*" for name, row in rows.items() if len(row.get("seeds", [0])) > 1]
    return "one seed" + (f" (three of {', '.join(more)})" if more else "")


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


def _trial(name: str, row: dict[str, Any], compared: dict[str, Any] | None, levels: list[float]) -> list[str]:
    said = difference(compared["acr_difference"] if compared else None)
    return [name, f"{row['updates']:.0f}", f"{row['acr']:.3f}", said, *sure_shares(row, levels), *_cells(row)]


def _cells(row: dict[str, Any]) -> list[str]:
    found = {cell["radius"]: cell["accuracy"] for cell in row["certified"]}
    return [f"{100 * found[r]:.1f}" for r in SHOWN]


def _curve(scaling: dict[str, Any], rows: dict[str, Any]) -> list[str]:
    """Every length of every method on test digits, with its difference to the recipe at as many passes."""
    if not scaling["results"]:
        return []
    plan, levels = scaling["certify"], levels_told(rows)
    heads = [
        "row",
        "seeds",
        "passes",
        "average radius",
        "difference to the recipe (95%)",
        *sure_heads(levels),
    ]
    lines = [
        f"On test digits (`wassermix reproduce scaling`, and `equal-compute` for some rows at 0.6 M; mode "
        f"`{plan['mode']}`, n = {plan['n']}, {plan['images']} images; the difference is to the recipe at as "
        f"many passes, on the same images).{sure_band(rows)}",
        "",
        line([*heads, *(f"r = {r:g}" for r in SHOWN)]),
        line(["---"] * (len(heads) + len(SHOWN))),
    ]
    for name, row in rows.items():
        told = [str(len(row.get("seeds", [0]))), f"{row['passes'] / 1e6:.1f} M", f"{row['acr']:.3f}"]
        gap = difference(_to_recipe(scaling, name))
        lines.append(line([name, *told, gap, *sure_shares(row, levels), *_cells(row)]))
    return [
        *lines,
        "",
        _seeds(rows) + _in_bfloat16(scaling),
        "",
        "![Average radius, certified accuracy and p_A against passes, and the literature](scaling.svg)",
        "",
    ]


def _seeds(rows: dict[str, Any]) -> str:
    spread = max((row.get("acr_seed_sd", 0.0) for row in rows.values()), default=0.0)
    return (
        "Where a method has three seeds, their average radii have a standard deviation of "
        f"up to {spread:.3f}; an interval of one seed speaks of two networks. So few draws cut every radius "
        "short, the large ones most: our rows may be read beside one another, not beside published ones."
    )


def _in_bfloat16(scaling: dict[str, Any]) -> str:
    """Which of the rows were trained with ``precision=bfloat16``."""
    rows = scaling.get("rows", {}).items()
    names = [name for name, row in rows if row.get("precision") == "bfloat16" and name in scaling["results"]]
    return f" Trained in bfloat16: {', '.join(names)}." if names else ""


def _colour(record: dict[str, Any]) -> list[str]:
    """How the recipe does on colour images, beside what it was not chosen against there."""
    rows = record["results"]
    gap = record.get("against_rows", {}).get("recipe", {}).get("acr_difference")
    if gap is None:
        return []
    told = ", ".join(f"{name} {row['acr']:.3f}" for name, row in rows.items())
    return [
        "### Colour images",
        "",
        f"On 20,000 CIFAR-10 images (`wassermix reproduce {record['table']}`: ResNet-20, sigma "
        f"{record['common']['method.sigma']:g}, {rows['recipe']['passes']:,.0f} passes each, n = "
        f"{record['certify']['n']:,}, {record['certify']['images']} test images, one seed) the average "
        f"radii are: {told}. The recipe less consistency: {difference(gap)}. "
        + (COLOUR if gap["high"] < 0 else "At such a length these images do not tell the two apart."),
        "",
    ]


COLOUR = (
    "The recipe was chosen on digits, and at a training as short as this it is behind on colour images: take "
    "`method=consistency` there, or plain noise where accuracy at small radii counts, and compare on "
    "held-out images of your own before you believe either."
)


def _in_order(rows: dict[str, Any]) -> dict[str, Any]:
    """The recipe first, then method by method, each from its shortest training to its longest."""
    methods = {name: name.rpartition(" at ")[0] for name in rows}
    order = sorted(rows, key=lambda name: (methods[name] != "recipe", methods[name], rows[name]["passes"]))
    return {name: rows[name] for name in order}


def _named(equal: dict[str, Any]) -> dict[str, Any]:
    return {f"{name} at 0.6 M": row for name, row in equal["results"].items() if "geodesic" not in name}
