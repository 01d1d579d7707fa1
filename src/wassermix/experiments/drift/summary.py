"""What the survey's cases say together: errors, ratios with intervals over kinds, alarms, coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from wassermix.drift.alarm import Alarm
from wassermix.drift.check import FACTOR, SHARE
from wassermix.drift.interval import FLOOR
from wassermix.drift.views import Floats

__all__ = ["settled_factor", "summarised"]

Rows = Sequence[dict[str, Any]]
LOSS = 0.10
"""A loss above this should raise an alarm: the AUC's question."""
REDRAWS = 2000
OURS = "joint"


def summarised(rows: Rows) -> dict[str, Any]:
    """Everything that the page shows, for the half that settled the settings and the half that is judged."""
    settling = [row for row in rows if row["settles"]]
    judged = [row for row in rows if not row["settles"]]
    return {
        "settling": _half(settling),
        "judged": _half(judged),
        "by_data": {name: _errors(_plain(_of(judged, "data", name))) for name in _values(judged, "data")},
        "by_kind": {kind: _errors(_of(rows, "kind", kind)) for kind in _values(rows, "kind")},
        "by_net": {net: _errors(_plain(_of(judged, "net", net))) for net in _values(judged, "net")},
        "false_alarms": _false_alarms([row for row in rows if row["kind"] == "none"]),
        "factor_settled": settled_factor(settling),
    }


def settled_factor(rows: Rows) -> float:
    """The factor of the interval that covers 95% of the kinds which settle it."""
    scaled = [abs(row["estimates"][OURS] - row["truth"]) / _scale(row) for row in rows]
    return float(np.quantile(scaled, 0.95))


def _half(rows: Rows) -> dict[str, Any]:
    plain, shifted = _plain(rows), [row for row in rows if row["label_shift"]]
    return {
        "cases": len(rows),
        "kinds": sorted({row["kind"] for row in rows}),
        "plain": _group(plain),
        "label_shift": _group(shifted),
        "all": _group(rows),
    }


def _group(rows: Rows) -> dict[str, Any]:
    names = list(rows[0]["estimates"])
    others = [name for name in names if name != OURS]
    return {
        "cases": len(rows),
        "estimators": {name: _one(rows, name) for name in names},
        "ratio": {name: _ratio(rows, name) for name in others},
        "coverage": float(np.mean([_covered(row) for row in rows])),
        "half_width": float(np.mean([_half_width(row) for row in rows])),
        "labels": _labels(rows),
    }


def _one(rows: Rows, name: str) -> dict[str, float | None]:
    truth = np.array([row["truth"] for row in rows])
    said = np.array([row["estimates"][name] for row in rows])
    source = np.array([row["source"] for row in rows])
    error = np.abs(said - truth)
    rank = None if np.ptp(said) == 0 or np.ptp(truth) == 0 else float(stats.spearmanr(said, truth).statistic)
    return {
        "mean": float(error.mean()),
        "p90": float(np.quantile(error, 0.9)),
        "bias": float((said - truth).mean()),
        "rank_correlation": rank,
        "auc": _auc(source - said, source - truth > LOSS),
        "milliseconds": _milliseconds(rows, name),
    }


def _milliseconds(rows: Rows, name: str) -> float | None:
    taken = [row["seconds"][name] for row in rows if name in row["seconds"]]
    return 1000 * float(np.mean(taken)) if taken else None


def _ratio(rows: Rows, name: str) -> dict[str, float]:
    """Our mean error over that of ``name``; the 95% interval resamples kinds, the units that were chosen."""
    kinds = sorted({row["kind"] for row in rows})
    ours, theirs = (_by_kind(rows, kinds, one) for one in (OURS, name))
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(kinds), size=(REDRAWS, len(kinds)))
    ratios = ours[drawn].sum(1) / np.maximum(theirs[drawn].sum(1), 1e-12)
    gaps = (ours - theirs)[drawn].mean(1)
    return {
        "ratio": float(ours.sum() / max(theirs.sum(), 1e-12)),
        "low": float(np.quantile(ratios, 0.025)),
        "high": float(np.quantile(ratios, 0.975)),
        "difference": float((ours - theirs).mean()),
        "deviation": float(np.std(ours - theirs, ddof=1)) if len(kinds) > 1 else 0.0,
        "difference_low": float(np.quantile(gaps, 0.025)),
        "difference_high": float(np.quantile(gaps, 0.975)),
    }


def _by_kind(rows: Rows, kinds: Iterable[str], name: str) -> Floats:
    """The mean error on each kind, every data set counting alike."""
    return np.array([_errors(_of(rows, "kind", kind))[name] for kind in kinds])


def _errors(rows: Rows) -> dict[str, float]:
    names = list(rows[0]["estimates"])
    sets = [_of(rows, "data", data) for data in _values(rows, "data")]
    return {name: float(np.mean([_mean_error(one, name) for one in sets])) for name in names}


def _mean_error(rows: Rows, name: str) -> float:
    return float(np.mean([abs(row["estimates"][name] - row["truth"]) for row in rows]))


def _scale(row: dict[str, Any]) -> float:
    return float(np.sqrt(row["spread"] ** 2 + (SHARE * row["disagreement"]) ** 2 + FLOOR**2))


def _half_width(row: dict[str, Any]) -> float:
    return FACTOR * _scale(row)


def _covered(row: dict[str, Any]) -> bool:
    return bool(abs(row["estimates"][OURS] - row["truth"]) <= _half_width(row) + 1e-12)


def _labels(rows: Rows) -> dict[str, float] | None:
    found = [row["labels"] for row in rows if row["labels"]]
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]} if found else None


def _false_alarms(rows: Rows) -> dict[str, Any]:
    """Without drift: tests that reject at 5%, and monitors that sound at 5% and 5 points."""
    p_values = {
        space: np.concatenate([row["p_values"][space] for row in rows]) for space in ("input", "feature")
    }
    tests = {space: float(np.mean(values <= 0.05)) for space, values in p_values.items()}
    streams: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        streams.setdefault((row["data"], row["seed"]), []).append(row)
    sounded = [
        max(Alarm(one[0]["source"] - 0.05).run(np.array([r["estimates"][OURS] for r in one]))) >= 20
        for one in streams.values()
    ]
    deals = len(p_values["input"])
    return {
        "cases": len(rows),
        "deals": deals,
        "tests": tests,
        "streams": len(sounded),
        "monitors": float(np.mean(sounded)),
    }


def _auc(score: Floats, positive: np.ndarray) -> float | None:
    """The chance that a case with a loss is ranked above one without, ties half."""
    if positive.all() or not positive.any():
        return None
    ranks = stats.rankdata(score)
    above = ranks[positive].sum() - positive.sum() * (positive.sum() + 1) / 2
    return float(above / (positive.sum() * (~positive).sum()))


def _plain(rows: Rows) -> Rows:
    return [row for row in rows if not row["label_shift"]]


def _of(rows: Rows, key: str, value: Any) -> Rows:
    return [row for row in rows if row[key] == value]


def _values(rows: Rows, key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))
