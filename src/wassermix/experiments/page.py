"""A finished table as a page of Markdown; every number comes from the gathered record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scipy.integrate import trapezoid

from wassermix.attacks.steps import TRAVEL, other_walk, usual_step
from wassermix.certify.crossings import AVERAGE
from wassermix.experiments.crossings import compared, radius_words, table_crossings
from wassermix.experiments.reach import row_reach
from wassermix.experiments.sureness import sure_cells

__all__ = ["MEASURES", "attack_head", "measure_words", "table_page"]

STEP = 0.25
"""Published tables tell the accuracy at multiples of this radius."""


def table_page(record: dict[str, Any]) -> str:
    """The record of :func:`wassermix.experiments.gather` as Markdown: protocol, table, comparisons."""
    return "\n".join(
        [
            f"### {record['title']}",
            "",
            *_protocol(record),
            "",
            *_table(record),
            "",
            *_nearness(record),
            *_sureness(record),
            *_crossed(record),
            *_paired(record),
        ]
    )


def _protocol(record: dict[str, Any]) -> Iterator[str]:
    yield f"`wassermix reproduce {record['table']}` (recipe `{record['recipe']}`, seeds {_seeds(record)})."
    plan = record["certify"]
    if plan is not None:
        yield (
            f"Certified: mode `{plan['mode']}`, n0 {plan['n0']}, n {plan['n']}, alpha {plan['alpha']:g}, "
            f"on {plan['images']} evenly spaced images of the {record['split']} split. "
            "Cells are means over seeds; ± is the half width of one seed's 95% Wilson interval."
        )
    for attack in record.get("attacks") or ():
        yield f"Attacked by {attack['attack']}: {attack.get('images', 'all')} images of that split."
    if record.get("audit") is not None:
        yield (
            f"Audited: the total variation of the KL along {_paths(record['audit'])} "
            f"(at most {record['audit']['per_class']} images per class, {record['audit']['points']} points), "
            f"{_noise(record['audit'])}; a lower one is a smoother path."
        )


def _paths(audit: dict[str, Any]) -> str:
    """Between which classes, and by which pairs of samples; early records do not say: all, and exact ones."""
    pairing, pairs = audit.get("pairing", "exact"), audit.get("pairs", "all")
    between = "all pairs of classes" if pairs == "all" else f"the pairs of classes {pairs}"
    return f"the paths between {between}, by {pairing} pairs of samples"


def _noise(audit: dict[str, Any]) -> str:
    """Which classifier was audited; records of early versions do not say, and it was the network itself."""
    sigma = audit.get("sigma", 0.0)
    return "under the noise of the training" if sigma is None or sigma else "the network without noise"


def _seeds(record: dict[str, Any]) -> str:
    listed = ", ".join(map(str, record["seeds"]))
    more = "; ".join(f"{row}: {', '.join(map(str, seeds))}" for row, seeds in record["more_seeds"].items())
    return f"{listed}; {more}" if more else listed


def _table(record: dict[str, Any]) -> Iterator[str]:
    rows, published = record["results"], record.get("published", {})
    if not rows:
        yield "No row is finished yet."
        return
    first = next(iter(rows.values()))
    radii = _radii(rows, published)
    heads = ["row", "seeds", "updates", "passes", "minutes"]
    heads += ["total variation"] if "total_variation" in first else []
    heads += ["average radius"] if "acr" in first else []
    heads += [f"r = {radius:g}" for radius in radii]
    heads += [head for attack in _attacks(record, first) for head in ("clean", attack_head(attack))]
    yield _line(heads)
    yield _line(["---"] * len(heads))
    by = record.get("published_by", "published")
    for name, row in rows.items():
        yield _line(_cells(name, row, radii, reach=row_reach(record, name)))
        if name in published:
            yield _line(_published_cells(f"{name} ({by})", published[name], first, radii))
    for name in (name for name in published if name not in rows):
        yield _line(_published_cells(f"{name} ({by})", published[name], first, radii))
    yield from _remarks(record)


def _attacks(record: dict[str, Any], row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The attacks on a row; step and start as the table asks for them where its record does not keep them."""
    found = row.get("attacks", [])
    for asked, attack in zip([*record.get("attacks", []), *[{}] * len(found)], found):
        yield {**{key: asked.get(key) for key in ("step_size", "random_start")}, **attack}


def _radii(rows: dict[str, Any], published: dict[str, Any]) -> list[float]:
    """Every radius that some row tells; rows at another noise have others."""
    own = {cell["radius"] for row in rows.values() for cell in row.get("certified", [])}
    theirs = {radius for row in published.values() for radius in _by_radius(row["certified"])}
    return sorted(own | theirs) if own else []


def _by_radius(accuracies: Sequence[float]) -> dict[float, float]:
    """Published accuracies by their radius."""
    return {STEP * place: value for place, value in enumerate(accuracies)}


def _published_cells(name: str, row: dict[str, Any], first: dict[str, Any], radii: list[float]) -> list[str]:
    """A row of the literature under the same heads; what it does not tell stays empty."""
    cells = [name, "", "", "" if row["passes"] is None else str(row["passes"]), ""]
    cells += [""] if "total_variation" in first else []
    cells += [_number(row["acr"], 3)] if "acr" in first else []
    told = _by_radius(row["certified"])
    cells += [_number(told.get(radius), 1) for radius in radii]
    attacked = [*row.get("attacked", ()), *[None] * len(first.get("attacks", []))]
    for _, value in zip(first.get("attacks", []), attacked):
        cells += [_number(row.get("clean"), 1), _number(value, 1)]
    return cells


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _remarks(record: dict[str, Any]) -> Iterator[str]:
    """Where published numbers come from: the table's note, and each remark with its rows."""
    rows: dict[str, list[str]] = {}
    for name, row in record.get("published", {}).items():
        if row.get("remark"):
            rows.setdefault(row["remark"], []).append(name)
    remarks = [f"{', '.join(names)}: {remark}." for remark, names in rows.items()]
    if text := " ".join([record.get("published_note", ""), *remarks]).strip():
        yield ""
        yield text


def _nearness(record: dict[str, Any]) -> Iterator[str]:
    """How far our rows are from those of the literature with the same name, at radii that both tell."""
    published = {} if record.get("group") == "paper" else record.get("published", {})
    for name, row in record["results"].items():
        told = _by_radius(published.get(name, {}).get("certified", ()))
        reach = row_reach(record, name)
        cells = [cell for cell in row.get("certified", []) if cell["radius"] <= reach]
        pairs = [(cell, told[cell["radius"]]) for cell in cells if cell["radius"] in told]
        if len(pairs) > 1:  # one has no area under it
            yield f"{name} against its publication: {_distance(pairs)}."
            yield ""


def _distance(pairs: list[tuple[dict[str, float], float]]) -> str:
    """The cell that is farthest off, and the areas under both curves by the trapezoidal rule."""
    own, theirs = [cell["accuracy"] for cell, _ in pairs], [value / 100 for _, value in pairs]
    far = max(range(len(pairs)), key=lambda place: abs(own[place] - theirs[place]))
    cell, radii = pairs[far][0], [cell["radius"] for cell, _ in pairs]
    areas = [float(trapezoid(side, radii)) for side in (own, theirs)]
    return (
        f"the largest distance is {100 * (own[far] - theirs[far]):+.1f} points, at r = {cell['radius']:g} "
        f"(± {50 * (cell['high'] - cell['low']):.1f} by the choice of images); "
        f"the area under these cells is {areas[0]:.3f} against {areas[1]:.3f}"
    )


def _sureness(record: dict[str, Any]) -> Iterator[str]:
    """The distribution of p_A of the rows that recorded it."""
    rows = {name: cells for name in record["results"] if (cells := sure_cells(record, name))}
    if not rows:
        return
    yield (
        "Share of images in per cent whose label has probability p_A of at least p under noise, with a 95% "
        "band for all p at once:"
    )
    yield ""
    levels = sorted({cell["p"] for cells in rows.values() for cell in cells})
    yield _line(["row", *(f"p = {p:g}" for p in levels)])
    yield _line(["---"] * (1 + len(levels)))
    for name, cells in rows.items():
        told = {cell["p"]: cell for cell in cells}
        yield _line([name, *(_banded(told.get(p)) for p in levels)])
    yield ""


def _banded(cell: dict[str, float] | None) -> str:
    if cell is None:
        return ""
    share, low, high = (f"{100 * cell[key]:.1f}" for key in ("share", "low", "high"))
    return f"{share} ({low} to {high})"


def _crossed(record: dict[str, Any]) -> Iterator[str]:
    """A line for each two rows whose order in mean radius is not that in images."""
    if sentences := table_crossings(record):
        yield from (f"- {sentence}." for sentence in sentences)
        yield ""


def _cells(name: str, row: dict[str, Any], radii: list[float], *, reach: float) -> list[str]:
    """A row's cells; beyond ``reach`` the draws prove nothing, whatever the network."""
    cells = [
        name,
        str(len(row["seeds"])),
        f"{row['updates']:.0f}",
        f"{row['passes']:.0f}",
        f"{row['minutes']:.1f}",
    ]
    if "total_variation" in row:
        cells.append(f"{row['total_variation']:.2f}")
    if "acr" in row:
        cells.append(
            f"{row['acr']:.3f}" + (f" (sd {row['acr_seed_sd']:.3f})" if "acr_seed_sd" in row else "")
        )
    told = {cell["radius"]: cell for cell in row.get("certified", [])}
    cells += [_certified(told.get(radius), reach) for radius in radii]
    for attack in row.get("attacks", []):
        for which in ("clean", "robust"):
            cells.append(_share(attack[f"{which}_accuracy"], attack[f"{which}_low"], attack[f"{which}_high"]))
    return cells


def _certified(cell: dict[str, float] | None, reach: float) -> str:
    if cell is None:
        return ""
    return _share(cell["accuracy"], cell["low"], cell["high"]) if cell["radius"] <= reach else "–"


def attack_head(attack: dict[str, Any]) -> str:
    """An attack in a few words, such as ``pgd, l2, eps 1, steps 20``; two of one table differ in them."""
    given = [f"{key} {attack[key]:g}" for key in ("eps", "steps", "restarts") if attack[key] is not None]
    norm = [attack["norm"]] if attack["norm"] else []
    return ", ".join([attack["attack"], *norm, *given, *_walk(attack)])


def _walk(attack: dict[str, Any]) -> list[str]:
    """Step and start where they are not the usual ones, such as ``step 1`` and ``from x``."""
    name = attack["attack"]
    if name not in TRAVEL or attack["steps"] is None:
        return []
    from_x = name == "pgd" and attack.get("random_start") is False
    return other_walk(
        attack.get("step_size"), usual_step(name, attack["eps"], attack["steps"]), from_x=from_x
    )


MEASURES = {
    "acr_difference": AVERAGE,
    "variation_difference": "total variation between classes",
    "attacked_difference": "accuracy under the table's last attack",
}


def measure_words(key: str, row: Mapping[str, Any]) -> str:
    """What a paired difference is one of; on a grid there is no average radius."""
    return radius_words(row) if key == "acr_difference" else MEASURES[key]


def _paired(record: dict[str, Any]) -> Iterator[str]:
    pairs = compared(record)
    for key in MEASURES:
        told = [(row, other, found) for row, other, found in pairs if key in found]
        if told:
            words = measure_words(key, record["results"].get(told[0][0], {}))
            yield (
                f"{words[0].upper()}{words[1:]} of a row less another's, on the same images and seeds "
                "(intervals over both):"
            )
            yield ""
            yield _line(["row", "against", "seeds", "difference", "95% interval", "sd over seeds"])
            yield _line(["---"] * 6)
            yield from (_difference(row, other, found, key) for row, other, found in told)
            yield ""


def _difference(row: str, other: str, found: Mapping[str, Any], key: str) -> str:
    gap = found[key][-1] if isinstance(found[key], list) else found[key]  # attacks: the last is the strongest
    spread = f"{gap['seed_sd']:.3f}" if "seed_sd" in gap else ""
    interval = f"{gap['low']:+.3f} to {gap['high']:+.3f}"
    return _line([row, other, str(found["seeds"]), f"{gap['mean']:+.3f}", interval, spread])


def _share(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ± {50 * (high - low):.1f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
