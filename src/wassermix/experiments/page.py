"""A finished table as a page of Markdown; every number comes from the gathered record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

__all__ = ["table_page"]


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
            *_sureness(record),
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
    if record.get("audit") is not None:
        yield (
            f"Audited: the total variation of the KL along the exact geodesics between all pairs of classes "
            f"(at most {record['audit']['per_class']} images per class, {record['audit']['points']} points), "
            "the network without noise; a lower one is a smoother path."
        )


def _seeds(record: dict[str, Any]) -> str:
    listed = ", ".join(map(str, record["seeds"]))
    more = "; ".join(f"{row}: {', '.join(map(str, seeds))}" for row, seeds in record["more_seeds"].items())
    return f"{listed}; {more}" if more else listed


def _table(record: dict[str, Any]) -> Iterator[str]:
    rows = record["results"]
    if not rows:
        yield "No row is finished yet."
        return
    first = next(iter(rows.values()))
    heads = ["row", "seeds", "updates", "passes", "minutes"]
    heads += ["total variation"] if "total_variation" in first else []
    heads += ["average radius"] if "acr" in first else []
    heads += [f"r = {cell['radius']:g}" for cell in first.get("certified", [])]
    heads += [
        _attack_head(attack, which) for attack in first.get("attacks", []) for which in ("clean", "attacked")
    ]
    yield _line(heads)
    yield _line(["---"] * len(heads))
    for name, row in rows.items():
        yield _line(_cells(name, row))
    for name, published in record.get("published", {}).items():
        yield _line(_published_cells(name, published, first))
    if record.get("published_note"):
        yield ""
        yield record["published_note"]


def _published_cells(name: str, row: dict[str, Any], first: dict[str, Any]) -> list[str]:
    """A row of the literature under the same heads; the accuracies that it does not tell stay empty."""
    cells = [f"{name} (published)", "", "", str(row["passes"]), ""]
    cells += [f"{row['acr']:.3f}"] if "acr" in first else []
    told = [f"{value:.1f}" for value in row["certified"]]
    return [*cells, *told, *[""] * (len(first.get("certified", [])) - len(told))]


def _sureness(record: dict[str, Any]) -> Iterator[str]:
    """The distribution of p_A of the rows that recorded it."""
    rows = {name: row["p_a"] for name, row in record["results"].items() if row.get("p_a")}
    if not rows:
        return
    yield "Share of images in per cent whose label has probability p_A of at least p under noise:"
    yield ""
    levels = [cell["p"] for cell in next(iter(rows.values()))]
    yield _line(["row", *(f"p = {p:g}" for p in levels)])
    yield _line(["---"] * (1 + len(levels)))
    for name, cells in rows.items():
        yield _line([name, *(f"{100 * cell['share']:.1f}" for cell in cells)])
    yield ""


def _cells(name: str, row: dict[str, Any]) -> list[str]:
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
    reach = row.get("reach", math.inf)  # beyond it the draws prove nothing, whatever the network
    cells += [
        _share(cell["accuracy"], cell["low"], cell["high"]) if cell["radius"] <= reach else "–"
        for cell in row.get("certified", [])
    ]
    for attack in row.get("attacks", []):
        for which in ("clean", "robust"):
            cells.append(_share(attack[f"{which}_accuracy"], attack[f"{which}_low"], attack[f"{which}_high"]))
    return cells


def _attack_head(attack: dict[str, Any], which: str) -> str:
    if which == "clean":
        return "clean"
    given = [f"{key} {attack[key]:g}" for key in ("eps", "steps", "restarts") if attack[key] is not None]
    return ", ".join([attack["attack"], *([attack["norm"]] if attack["norm"] else []), *given])


MEASURES = {
    "acr_difference": "Average radius",
    "variation_difference": "Total variation between classes",
}


def _paired(record: dict[str, Any]) -> Iterator[str]:
    compared = [(row, record["control"], found) for row, found in record["against_control"].items()]
    further = record.get("against_rows", {})  # files of earlier versions have none
    compared += [(row, record["against"][row], found) for row, found in further.items()]
    for key, words in MEASURES.items():
        lines = [_difference(row, other, found, key) for row, other, found in compared if key in found]
        if lines:
            yield f"{words} of a row less another's, on the same images and seeds (intervals over both):"
            yield ""
            yield _line(["row", "against", "seeds", "difference", "95% interval", "sd over seeds"])
            yield _line(["---"] * 6)
            yield from lines
            yield ""


def _difference(row: str, other: str, found: dict[str, Any], key: str) -> str:
    gap = found[key]
    spread = f"{gap['seed_sd']:.3f}" if "seed_sd" in gap else ""
    interval = f"{gap['low']:+.3f} to {gap['high']:+.3f}"
    return _line([row, other, str(found["seeds"]), f"{gap['mean']:+.3f}", interval, spread])


def _share(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} ± {50 * (high - low):.1f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
