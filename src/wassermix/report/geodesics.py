"""The page's part on audits: mean curves, weakest pairs, matrices, and the data of the morphing slider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wassermix.report.figures import mean_geodesics, pair_matrix, pair_values, predicted_shares
from wassermix.report.markup import Safe, data_block, element, escape, join, table
from wassermix.report.pictures import budgeted_samples, sheet
from wassermix.report.records import Audited, PairCurve, RunRecord
from wassermix.report.vector import inline_svg

__all__ = ["audits_of", "explorer", "film_strip", "geodesic_section"]

WEAKEST = 5
STRIP_SAMPLES, STRIP_TIMES = 3, 11


def audits_of(runs: Sequence[RunRecord]) -> tuple[dict[str, Audited], dict[str, int]]:
    """Every audit that holds a pair, under its run's name, and the place of that run on the page."""
    named: dict[str, Audited] = {}
    series: dict[str, int] = {}
    for place, run in enumerate(runs):
        for audit in (one for one in run.audited if one.pairs):
            label = run.name if len(run.audited) == 1 else f"{run.name} · {audit.name}"
            named[label], series[label] = audit, place
    return named, series


def geodesic_section(audits: Mapping[str, Audited], series: Mapping[str, int]) -> Safe:
    """Curves over t, the pairs where the model is weakest, and a matrix a run."""
    means = [
        _figure(
            mean_geodesics(audits, "kl", series),
            "KL between mixed label and prediction along the geodesics, mean over "
            "pairs; the band holds 80% of the pairs.",
        ),
        _figure(
            mean_geodesics(audits, "accuracy", series),
            "Accuracy (the nearer class counts as right, and at t = ½ either) along the "
            "geodesics, mean over pairs; the band holds 80% of the pairs.",
        ),
    ]
    shares = [
        _figure(
            predicted_shares(audit), f"{label}: what the model predicts along the geodesics, mean over pairs."
        )
        for label, audit in audits.items()
    ]
    top = max(pair.total_variation for audit in audits.values() for pair in audit.pairs)
    matrices = [
        _figure(
            pair_matrix(audit, top=top),
            f"{label}: total variation of the KL along each geodesic; high means "
            "an uneven path. One colour scale for all runs.",
        )
        for label, audit in audits.items()
    ]
    return join(
        [
            _grid(means),
            _grid(shares),
            element("h3", "Where each model is weakest"),
            weakest_table(audits),
            _grid(matrices),
        ]
    )


def weakest_table(audits: Mapping[str, Audited]) -> Safe:
    """The pairs with the highest peak of KL, for each run."""
    rows = [_weak_row(label, pair) for label, audit in audits.items() for pair in weakest(audit)[:WEAKEST]]
    head = ["run", "pair", "highest KL", "at t", "total variation", "mean accuracy", "prediction flips at t"]
    return table("The pairs of classes between which the loss climbs highest.", head, rows, words=(0, 1))


def weakest(audit: Audited) -> list[PairCurve]:
    """The pairs by their highest KL, worst first."""
    return sorted(audit.pairs, key=lambda pair: -float(pair.kl.max()))


def film_strip(audits: Mapping[str, Audited]) -> Safe:
    """Pictures along the geodesic of the weakest pair: needs no script, and prints."""
    label, audit = next(((key, one) for key, one in audits.items() if one.pictures), (None, None))
    if audit is None:
        return Safe("")
    position = max(audit.pictures, key=lambda place: float(audit.pairs[place].kl.max()))
    pair, frames = audit.pairs[position], audit.pictures[position][:STRIP_SAMPLES]
    chosen = np.unique(np.linspace(0, frames.shape[1] - 1, STRIP_TIMES).round().astype(int))
    way = f"from class {pair.source} to class {pair.target}"
    words = f"Samples on their way {way} (t = 0 to 1), where {label} is weakest."
    image = Safe(f'<img class="strip" src="{sheet(frames[:, chosen])}" alt="{escape(words)}">')
    return element("figure", image, element("figcaption", words))


def explorer(audits: Mapping[str, Audited], series: Mapping[str, int], runs: Sequence[RunRecord]) -> Safe:
    """The data of the slider; the script builds its controls from it."""
    sheets: dict[str, int] = {}
    shown = [
        {"run": label, "colour": series[label] % 8, **_series(audit, sheets, 1 / len(audits))}
        for label, audit in audits.items()
    ]
    paths = [(runs[series[label]].data, _path(audit)) for label, audit in audits.items()]
    for one, path in zip(shown, paths):
        _borrow(one, [other for other, theirs in zip(shown, paths) if theirs == path])
    return data_block("explorer-data", {"series": shown, "sheets": list(sheets)})


def _path(audit: Audited) -> str:
    """The parameters that shape the geodesics, as opposed to those that judge a model along them."""
    keys = ("embed", "entropy", "transport", "per_class", "seed", "class_names")
    return repr([audit.parameters.get(key) for key in keys])


def _series(audit: Audited, sheets: dict[str, int], budget: float) -> dict[str, Any]:
    pairs = [_pair_data(pair) for pair in audit.pairs]
    if audit.pictures:
        samples, most = budgeted_samples(audit.pictures, budget)
        worst = sorted(audit.pictures, key=lambda place: -float(audit.pairs[place].kl.max()))
        for place in worst[:most]:
            frames = audit.pictures[place][:samples]
            number = sheets.setdefault(sheet(frames), len(sheets))
            look = {"sheet": number, "times": _rounded(audit.times), "samples": len(frames)}
            pairs[place] |= {"pictures": look | {"size": list(frames.shape[-2:])}}
    return {"pairs": pairs}


def _borrow(series: dict[str, Any], others: Sequence[dict[str, Any]]) -> None:
    """Runs audited on the same paths share their pictures, as each stores only those of its weakest pairs."""
    known = {
        (pair["source"], pair["target"]): pair["pictures"]
        for other in others
        for pair in other["pairs"]
        if "pictures" in pair
    }
    for pair in series["pairs"]:
        if (pair["source"], pair["target"]) in known:
            pair.setdefault("pictures", known[pair["source"], pair["target"]])


def _pair_data(pair: PairCurve) -> dict[str, Any]:
    arrays = {
        key: _rounded(getattr(pair, key))
        for key in ("t", "loss", "kl", "accuracy", "as_source", "as_target", "as_other")
    }
    return {"source": pair.source, "target": pair.target, **arrays}


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _weak_row(label: str, pair: PairCurve) -> list[object]:
    peak = int(pair.kl.argmax())
    values = pair_values(pair)
    flip = "–" if pair.flip_t is None else f"{pair.flip_t:.2f}"
    return [
        label,
        element("span", pair.label, attributes={"class": "pairname"}),
        f"{pair.kl[peak]:.3f}",
        f"{pair.t[peak]:.2f}",
        f"{pair.total_variation:.3f}",
        f"{100 * values['accuracy']:.1f}%",
        flip,
    ]


def _figure(figure: Any, words: str) -> Safe:
    return element("figure", inline_svg(figure, words), element("figcaption", words))


def _grid(figures: Sequence[Safe]) -> Safe:
    return element("div", *figures, attributes={"class": "grid"})
