"""The data of the slider that morphs one class into another; page.js builds its controls from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wassermix.report.geodesics import weakest
from wassermix.report.markup import Safe, data_block
from wassermix.report.pictures import budgeted_samples, sheet
from wassermix.report.records import Audited, PairCurve, RunRecord

__all__ = ["explorer"]

MOST_PAIRS = 200
"""Pairs of one run on the page; of more, the weakest, since a hundred classes have five thousand pairs."""


def explorer(audits: Mapping[str, Audited], series: Mapping[str, int], runs: Sequence[RunRecord]) -> Safe:
    """Every run's curves and pictures as a block of data."""
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
    keys = ("split", "embedding", "embed", "entropy", "transport", "per_class", "seed", "class_names")
    return repr([audit.parameters.get(key) for key in keys])


def _series(audit: Audited, sheets: dict[str, int], budget: float) -> dict[str, Any]:
    shown = {pair: _pair_data(pair) for pair in weakest(audit)[:MOST_PAIRS]}
    if audit.pictures:
        samples, most = budgeted_samples(audit.pictures, budget)
        worst = sorted(audit.pictures, key=lambda place: -float(audit.pairs[place].kl.max()))
        for place in worst[:most]:
            frames = audit.pictures[place][:samples]
            number = sheets.setdefault(sheet(frames), len(sheets))
            look = {"sheet": number, "times": _rounded(audit.times), "samples": len(frames)}
            pair = audit.pairs[place]
            shown.setdefault(pair, _pair_data(pair))["pictures"] = look | {"size": list(frames.shape[-2:])}
    return {"pairs": [shown[pair] for pair in audit.pairs if pair in shown]}


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
