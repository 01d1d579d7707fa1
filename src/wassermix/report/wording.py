"""Numbers and settings in words, the same way in every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wassermix.core.intervals import Share
from wassermix.report.records import RunRecord, component

__all__ = ["interval", "number", "p_value", "percent", "points", "setting_rows", "settings"]


LONG = 24
"""A parameter of more entries than this is counted, not listed."""


def percent(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f}%"


def interval(share: Share) -> str:
    """The 95% interval of a share, in per cent."""
    return f"{100 * share.low:.1f}–{100 * share.high:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * difference:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def p_value(p: float) -> str:
    """A p value to two digits, never a bare zero."""
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def number(value: Any) -> str:
    """A parameter's value: whole numbers grouped, others to six digits, lists in brackets, null as none."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > LONG:
        return f"{len(value):,} values"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number(item) for item in value) + "]"
    return str(value)


def settings(run: RunRecord) -> dict[str, str]:
    """How a run was trained: method, augment, regularizer, updates, passes of a sample."""
    if not run.config:
        unknown = "not in the log" if run.is_log else "not known"
        return dict.fromkeys(("method", "augment", "regularizer", "updates", "passes"), unknown)
    method, sigma = component(run.config, "method"), _option(run.config, "method", "sigma")
    weight = _option(run.config, "regularizer", "weight")
    smooth = component(run.config, "regularizer") if weight != 0 else None
    return {
        "method": _first_of(run.config) + f"{method or 'unknown'}{f', sigma {sigma:g}' if sigma else ''}",
        "augment": component(run.config, "augment") or "none",
        "regularizer": f"{smooth}{f', weight {weight:g}' if weight is not None else ''}"
        if smooth
        else "none",
        "updates": "–" if run.updates is None else f"{run.updates:,}",
        "passes": "–" if run.passes is None else f"{run.passes:,}",
    }


def _first_of(config: Mapping[str, Any]) -> str:
    """What to say before the settings of an ensemble, which are those of its first member."""
    return "mean of several networks, the first by " if component(config, "model") == "ensemble" else ""


def setting_rows(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Every parameter under its dotted key."""
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows += setting_rows(value, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", str(value) if key == "seed" else number(value)))
    return rows


def _option(config: Mapping[str, Any], section: str, key: str) -> float | None:
    values = config.get(section)
    value = values.get(key) if isinstance(values, Mapping) else None
    return float(value) if isinstance(value, int | float) else None
