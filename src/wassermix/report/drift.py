"""The section about data without labels: estimates, tests, the way to the new data, streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from wassermix.core.intervals import holm
from wassermix.drift.folder import Frames, Kept, Watched, read_folder
from wassermix.drift.interval import Interval
from wassermix.drift.moved import Column
from wassermix.drift.result import DriftResult
from wassermix.drift.way import Way
from wassermix.report.figures import Curve, drawn_curves
from wassermix.report.markup import Safe, details, element, escape, join, table
from wassermix.report.pictures import sheet
from wassermix.report.records import RunRecord
from wassermix.report.vector import inline_svg
from wassermix.report.wording import p_value, setting_rows

__all__ = ["DRIFT", "drift_parts"]

DRIFT = (
    "How good is the model on data without labels? Labels of the reference are carried to the new samples "
    "along an optimal transport plan, and agreement with the model is counted. The interval says how far "
    "such estimates were off in a survey of known shifts; only the one from labels is a guarantee."
)
COLUMNS = 8


def drift_parts(runs: Sequence[RunRecord]) -> list[Safe]:
    """What the page shows of all runs' checks and streams; nothing where there are none."""
    found = [(run.name, *read_folder(run.path / "drift")) for run in runs if not run.is_log]
    checks = [(name, kept) for name, all_kept, _ in found for kept in all_kept]
    streams = [(name, one) for name, _, watched in found for one in watched]
    parts = [_table(checks), *_details(checks)] if checks else []
    return [*parts, *(_stream(name, one) for name, one in streams)]


def _table(checks: Sequence[tuple[str, Kept]]) -> Safe:
    head = ["run", "new data", "samples", "reference", "estimated", "with labels", "truth"]
    head.append("drift (Holm's p)")
    return table("Accuracy on new data", head, [_row(name, kept) for name, kept in checks], words=(0, 1))


def _row(run: str, kept: Kept) -> list[object]:
    result = kept.result
    return [
        run,
        kept.name,
        result.used_count,
        f"{result.reference_accuracy:.1%}",
        _interval(result.estimate),
        "–" if result.powered is None else _interval(result.powered.interval),
        "–" if result.truth is None else f"{result.truth:.1%}",
        _drifted(result),
    ]


def _drifted(result: DriftResult) -> str:
    smallest = p_value(min(holm([test.p_value for test in result.tests])))
    return f"{'yes' if result.drifted else 'not shown'} (p {smallest})"


def _interval(interval: Interval) -> str:
    return f"{interval.estimate:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _details(checks: Sequence[tuple[str, Kept]]) -> Iterator[Safe]:
    for run, kept in checks:
        yield element("h3", f"{run}: {kept.name}")
        for doubt in kept.result.doubts:
            yield element("p", f"Doubt: {doubt}.", attributes={"class": "remark"})
        for note in kept.result.notes:
            yield element("p", f"Note: {note}.", attributes={"class": "remark"})
        yield element("div", *_figures(kept), attributes={"class": "grid"})
        if kept.result.moved.columns:
            yield _moved(kept.result.moved.columns)
        yield details("Estimators, classes and settings", _estimators(kept), _classes(kept), _settings(kept))


def _figures(kept: Kept) -> Iterator[Safe]:
    way = kept.result.way
    if way is not None:
        fails = "" if way.fails_at is None else f" The model starts to fail at t = {way.fails_at:.2f}."
        words = f"On the way from the reference (t = 0) to {kept.name} (t = 1).{fails}"
        t = np.array(way.t)
        lines = {"accuracy of carried labels": way.accuracy, "confidence": way.confidence}
        curves = [_curve(label, t, np.array(values)) for label, values in lines.items()]
        yield _figure(drawn_curves(curves, "t", "share"), words)
    if kept.frames is not None:
        words = (
            "The samples that moved most, from their partners in the reference (left) to themselves (right)."
        )
        image = Safe(f'<img class="strip" src="{sheet(kept.frames.pixels)}" alt="{escape(words)}">')
        # page.js makes a slider of it
        steps: dict[str, object] = {"class": "way", "data-way": json.dumps(_steps(kept.frames, way))}
        yield element("figure", image, element("figcaption", words), attributes=steps)


def _steps(frames: Frames, way: Way | None) -> dict[str, Any]:
    """What the slider shows at each time of the pictures."""
    samples, _, _, height, width = frames.pixels.shape
    t = frames.t.astype(np.float64)
    found: dict[str, Any] = {"samples": samples, "size": [height, width], "t": t.round(3).tolist()}
    if way is not None:
        lines = {"accuracy": way.accuracy, "confidence": way.confidence}
        found |= {key: np.interp(t, way.t, values).round(4).tolist() for key, values in lines.items()}
    return found


def _curve(label: str, x: Any, y: Any) -> Curve:
    return Curve(label, x, y, y, y)


def _figure(figure: Figure, words: str) -> Safe:
    return element("figure", inline_svg(figure, words), element("figcaption", words))


def _moved(columns: Sequence[Column]) -> Safe:
    rows = [
        [
            one.name,
            f"{one.shift:+.2f}",
            f"{one.distance:.2f}",
            *(f"{one.old[q]:.4g} → {one.new[q]:.4g}" for q in (0, 2, 4)),
        ]
        for one in columns[:COLUMNS]
    ]
    head = ["column", "mean shift (sd)", "distance (sd)", "5%", "median", "95%"]
    return table("What moved, the furthest first", head, rows)


def _estimators(kept: Kept) -> Safe:
    rows = [[name, f"{value:.1%}"] for name, value in kept.result.estimates.items()]
    return table("What each estimator says", ["estimator", "accuracy"], rows)


def _classes(kept: Kept) -> Safe:
    rows = [
        [one.label, one.decided, _share(one.reference_accuracy), _share(one.accuracy), f"{one.growth:.2f}"]
        for one in kept.result.classes
    ]
    head = ["decided for", "samples", "right, reference", "right, estimated", "growth of the class"]
    return table("Class by class", head, rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _settings(kept: Kept) -> Safe:
    rows = setting_rows(kept.result.parameters)
    return table("Every parameter", ["parameter", "value"], rows, words=(0, 1))


def _stream(run: str, watched: Watched) -> Safe:
    """The estimates of a stream batch by batch, and whether the alarm has sounded."""
    lines = watched.lines
    first = next((line.batch for line in lines if line.alarm), None)
    said = "no alarm" if first is None else f"alarm at batch {first}"
    title = element("h3", f"{run}: {watched.name}, {len(lines)} batches, {said}")
    if not lines:
        return title
    x = np.array([line.batch for line in lines], dtype=np.float64)
    y, low, high = (np.array([getattr(line, key) for line in lines]) for key in ("estimate", "low", "high"))
    curve = Curve("estimated accuracy", x, y, low, high)
    return join([title, _figure(drawn_curves([curve], "batch", "accuracy"), f"{watched.name}: {said}.")])
