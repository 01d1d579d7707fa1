"""The page's part on audits: mean curves, weakest pairs, matrices, and a strip of pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wassermix.report.figures import mean_geodesics, pair_matrix, pair_values, predicted_shares, triangle_map
from wassermix.report.markup import Safe, element, escape, join, table
from wassermix.report.pictures import sheet
from wassermix.report.records import Audited, PairCurve, RunRecord
from wassermix.report.vector import inline_svg

__all__ = ["audits_of", "film_strip", "geodesic_section", "triangle_section", "weakest"]

WEAKEST = 5
BAND = "mean over pairs; the band holds 80% of the pairs."
MEANS = {
    "kl": "KL between mixed label and prediction",
    "loss": "Cross-entropy to the mixed label, which alone reaches log 2 = 0.69 in the middle",
    "accuracy": "Accuracy (the nearer class counts as right, and at t = ½ either)",
}
MATRICES = {
    "total_variation": "total variation of the KL along each geodesic; high means an uneven path.",
    "accuracy": "mean accuracy along each geodesic; low means a path on which the model errs.",
}
STRIP_SAMPLES, STRIP_TIMES = 3, 11


def audits_of(runs: Sequence[RunRecord]) -> tuple[dict[str, Audited], dict[str, int]]:
    """Every audit that holds a pair, under its run's name, and the place of that run on the page.

    A label says which pairs the paths join if not the exact ones, and the file where two audits of a run have
    the same.
    """
    named: dict[str, Audited] = {}
    series: dict[str, int] = {}
    for place, run in enumerate(runs):
        for audit in (one for one in run.audited if one.pairs):
            alike = [one for one in run.audited if one.other_pairs == audit.other_pairs]
            label = _label(run.name, audit.other_pairs, audit.name if len(alike) > 1 else "")
            named[label], series[label] = audit, place
    return named, series


def geodesic_section(audits: Mapping[str, Audited], series: Mapping[str, int]) -> Safe:
    """Curves over t, the pairs where the model is weakest, and two matrices a run."""
    means = [_figure(mean_geodesics(audits, key, series), f"{words}, {BAND}") for key, words in MEANS.items()]
    shares = [
        _figure(predicted_shares(audit), f"{label}: what the model predicts on the way, mean over pairs.")
        for label, audit in audits.items()
    ]
    weak = [element("h3", "Where each model is weakest"), weakest_table(audits)]
    return join([_grid(means + shares), *weak, *(_matrices(audits, key) for key in MATRICES)])


def _matrices(audits: Mapping[str, Audited], measure: str) -> Safe:
    """A matrix a run, all with the same colours."""
    values = [pair_values(pair)[measure] for audit in audits.values() for pair in audit.pairs]
    scale = (min(values), max(values))
    shown = [
        _figure(
            pair_matrix(audit, measure, scale), f"{label}: {MATRICES[measure]} One colour scale for all runs."
        )
        for label, audit in audits.items()
    ]
    return _grid(shown)


def triangle_section(runs: Sequence[RunRecord]) -> Safe:
    """The triangles of all runs, with the same colours."""
    named = [(_label(run.name, one.other_pairs), one) for run in runs for one in run.triangles]
    values = np.concatenate([one.kl for _, one in named])
    scale = (float(values.min()), float(values.max()))
    shown = []
    for label, one in named:
        worst = one.weights[int(one.kl.argmax())]
        place = ", ".join(f"{weight:.2f} of {name}" for weight, name in zip(worst, one.classes))
        words = f"{label}: KL between {', '.join(one.classes)}, highest ({one.kl.max():.3f}) at {place}."
        shown.append(_figure(triangle_map(one, scale), words))
    return _grid(shown)


def weakest_table(audits: Mapping[str, Audited]) -> Safe:
    """The pairs with the highest peak of KL, for each run."""
    rows = [_weak_row(label, pair) for label, audit in audits.items() for pair in weakest(audit)[:WEAKEST]]
    head = ["run", "pair", "highest KL", "at t", "total variation", "mean accuracy", "prediction flips at t"]
    return table("The pairs of classes between which the loss climbs highest.", head, rows, words=(0, 1))


def weakest(audit: Audited) -> list[PairCurve]:
    """The pairs by their highest KL, worst first."""
    return sorted(audit.pairs, key=lambda pair: -float(pair.kl.max()))


def film_strip(audits: Mapping[str, Audited]) -> Safe:
    """Pictures along the geodesic of the weakest pair, an exact one if any: needs no script, and prints."""
    shown = [label for label, one in audits.items() if one.pictures]
    if not shown:
        return Safe("")
    label = min(shown, key=lambda one: audits[one].other_pairs)  # the first of those with the same
    audit = audits[label]
    position = max(audit.pictures, key=lambda place: float(audit.pairs[place].kl.max()))
    pair, frames = audit.pairs[position], audit.pictures[position][:STRIP_SAMPLES]
    chosen = np.unique(np.linspace(0, frames.shape[1] - 1, STRIP_TIMES).round().astype(int))
    way = f"from class {pair.source} to class {pair.target}"
    words = f"Samples on their way {way} (t = 0 to 1), where {label} is weakest."
    image = Safe(f'<img class="strip" src="{sheet(frames[:, chosen])}" alt="{escape(words)}">')
    return element("figure", image, element("figcaption", words))


def _label(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


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
