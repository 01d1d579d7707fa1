"""The report: one HTML page that needs no network, written from run directories alone."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from wassermix import __version__
from wassermix.core.files import write_text
from wassermix.report.compare import comparisons
from wassermix.report.drift import DRIFT, drift_parts
from wassermix.report.explanations import ATTACKS, CERTIFICATES, GEODESICS, MORPH, TESTS, TRIANGLES
from wassermix.report.explorer import explorer
from wassermix.report.figures import training_curves
from wassermix.report.geodesics import audits_of, film_strip, geodesic_section, triangle_section
from wassermix.report.geometry import GEOMETRY, geometry_parts
from wassermix.report.markup import Safe, details, element, join, table
from wassermix.report.reading import load_runs
from wassermix.report.records import Audited, RunRecord
from wassermix.report.results import (
    attacked_section,
    certified_section,
    compared_section,
    headline,
    opening,
    overview_section,
)
from wassermix.report.vector import inline_svg
from wassermix.report.verdict import smoothness, verdict
from wassermix.report.wording import setting_rows

__all__ = ["ReportSummary", "report", "write_report"]

QUIET = ("epoch", "seconds", "images", "memory", "peak", "update", "step", "time", "passes", "version")
"""Beginnings of metric names that say how fast, not how well, a training went."""
PANELS = 8


@dataclass(frozen=True)
class ReportSummary:
    """What was written: the page, its size, the runs on it, and what would make it fuller."""

    path: Path
    bytes: int
    runs: tuple[str, ...]
    missing: tuple[str, ...]
    verdict: tuple[str, ...] = ()
    """What the page says first, where it is about one run."""


Runs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def report(runs: Runs, *, out: str | os.PathLike[str] = "report.html") -> ReportSummary:
    """``wm.report([run, "runs/b"], out="report.html")``: a page about runs, each a ``Run`` or its folder."""
    given = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    return write_report([Path(run) for run in given], Path(out))


def write_report(runs: list[Path], out: Path, *, lead: str = "") -> ReportSummary:
    """Write one self-contained page about ``runs`` (run directories or ``.tsv`` logs) to ``out``.

    ``lead`` is a sentence to begin with, beside a picture of what is proved.
    """
    records = load_runs([Path(run) for run in runs])
    page = build_page(records, lead)
    write_text(out, page)
    names = tuple(run.name for run in records)
    missing = tuple(line for what in COMMANDS for line in _missing(records, what))
    said = tuple(verdict(records[0])) if len(records) == 1 else tuple(smoothness(records))
    return ReportSummary(out, len(page.encode("utf-8")), names, missing, said)


def build_page(runs: Sequence[RunRecord], lead: str = "") -> str:
    """The page as text."""
    audits, series = audits_of(runs)
    sections = [
        *_result_sections(runs, lead),
        *_audit_sections(runs, audits, series),
        *_background_sections(runs),
    ]
    title = " · ".join(run.name for run in runs)
    script = _part("page.js")
    return Template(_part("page.html")).substitute(
        title=element("title", f"wassermix report: {title}"),
        heading=_heading(runs),
        style=_part("page.css"),
        script=script,
        allowed=script_hash(script),
        contents=_contents(sections),
        sections=join(sections, "\n"),
        data=explorer(audits, series, runs) if audits else "",
        version=_made(),
    )


def _heading(runs: Sequence[RunRecord]) -> Safe:
    """Which runs the page is about; of a model that was not trained here also its file."""
    names = [run.name if run.model_file is None else f"{run.name} (model {run.model_file})" for run in runs]
    words = f"{len(runs)} run{'s' if len(runs) != 1 else ''}: {' · '.join(names)}"
    return element("p", words, attributes={"class": "runs"})


def _made() -> Safe:
    """By which version and when."""
    now = datetime.now(UTC)
    day = element("time", f"{now:%d %B %Y, %H:%M} UTC", attributes={"datetime": f"{now:%Y-%m-%dT%H:%MZ}"})
    return join([element("span", f"wassermix {__version__}"), " · written ", day])


def script_hash(script: str) -> str:
    """What a content policy names to allow exactly this script, which stands after a line break."""
    digest = hashlib.sha256(f"\n{script}".encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _result_sections(runs: Sequence[RunRecord], lead: str) -> Iterator[Safe]:
    tests = comparisons(runs)
    said = headline(runs, tests)
    first = opening(runs, lead, said) if lead else said
    yield _section("overview", "Results at a glance", first, overview_section(runs))
    proved = [_lead(CERTIFICATES), certified_section(runs)] if any(run.certified for run in runs) else []
    yield _section("certified", "What is proved", *proved, *_absent(_missing(runs, "certify")))
    found = [_lead(ATTACKS), attacked_section(runs)] if any(run.attacked for run in runs) else []
    absent = _absent(_missing(runs, "attack"))
    if found or absent:
        yield _section("attacked", "What attacks find", *found, *absent)
    if tests:
        yield _section("compared", "Run against run", _lead(TESTS), compared_section(tests))


def _audit_sections(
    runs: Sequence[RunRecord], audits: Mapping[str, Audited], series: Mapping[str, int]
) -> Iterator[Safe]:
    absent = _absent(_missing(runs, "audit"))
    if audits:
        yield _section("morph", "From class to class", _lead(MORPH), MOUNT, film_strip(audits))
        yield _section(
            "geodesics", "Between the classes", _lead(GEODESICS), geodesic_section(audits, series), *absent
        )
    elif absent:
        yield _section("geodesics", "Between the classes", *absent)
    if any(run.triangles for run in runs):
        yield _section("triangles", "Between three classes", _lead(TRIANGLES), triangle_section(runs))


def _background_sections(runs: Sequence[RunRecord]) -> Iterator[Safe]:
    if geometry := geometry_parts(runs):
        yield _section("geometry", "The data as transport sees them", _lead(GEOMETRY), *geometry)
    drifted = drift_parts(runs)
    if drifted:
        yield _section("drift", "Data without labels", _lead(DRIFT), *drifted)
    absent = (f"{run.name} has no metrics.jsonl, so no training curve." for run in runs if not run.metrics)
    yield _section("training", "Training", _training(runs), *_absent(absent))
    yield _section("parameters", "Every parameter", *(_parameters(run) for run in runs))


MOUNT = element("div", attributes={"id": "explorer", "class": "explorer"})
COMMANDS: dict[str, tuple[Callable[[RunRecord], bool], str]] = {
    "certify": (lambda run: bool(run.certified), "certificates"),
    "attack": (lambda run: bool(run.attacked) or run.is_log, "attack"),
    "audit": (lambda run: bool(run.audited) or run.is_log, "audit"),
}


def _missing(runs: Sequence[RunRecord], what: str) -> Iterator[str]:
    there, noun = COMMANDS[what]
    for run in runs:
        if not there(run):
            yield f"{run.name} has no {noun}: `wassermix {what} {run.path}` adds it."


def _absent(lines: Iterable[str]) -> list[Safe]:
    return [element("p", line, attributes={"class": "absent"}) for line in lines]


def _section(name: str, title: str, *parts: object) -> Safe:
    return element("section", element("h2", title), *parts, attributes={"id": name})


def _contents(sections: Sequence[Safe]) -> Safe:
    """Links to the sections that are there."""
    found = [re.match(r'<section id="([a-z]+)"><h2>([^<]*)</h2>', section) for section in sections]
    links = [
        element("a", Safe(one.group(2)), attributes={"href": f"#{one.group(1)}"}) for one in found if one
    ]
    return element("nav", *links, attributes={"aria-label": "Sections"})


def _part(name: str) -> str:
    return (files("wassermix.report") / name).read_text(encoding="utf-8")


def _lead(text: str) -> Safe:
    return element("p", text, attributes={"class": "lead"})


def _training(runs: Sequence[RunRecord]) -> Safe:
    lines = {run.name: run.metrics for run in runs if run.metrics}
    places = {run.name: place for place, run in enumerate(runs)}
    figures = []
    for key in _panels([line for one in lines.values() for line in one])[:PANELS]:
        words = f"{key} over the epochs{_watched(runs) if key == 'accuracy' else ''}."
        picture = inline_svg(training_curves(lines, key, places), f"Training: {words}")
        figures.append(element("figure", picture, element("figcaption", words)))
    return element("div", *figures, attributes={"class": "grid"}) if figures else Safe("")


def _panels(lines: Sequence[Mapping[str, float]]) -> list[str]:
    """The numbers worth a picture; of two that never differ, such as a total of one term, only the second."""
    keys = [key for key in dict.fromkeys(key for line in lines for key in line) if not key.startswith(QUIET)]
    distinct = {tuple(line.get(key) for line in lines): key for key in keys}
    return [key for key in keys if key in distinct.values()]


def _watched(runs: Sequence[RunRecord]) -> str:
    """What the accuracy of a training is: a quick look, not a result."""
    splits = sorted({run.watched for run in runs if run.watched})
    return (
        f", watched on some {' and '.join(splits)} samples under one draw of the training noise"
        if splits
        else ""
    )


def _parameters(run: RunRecord) -> Safe:
    blocks = [_listing("Configuration (config.yaml)", run.config)] if run.config else []
    blocks += [_listing(f"Certification {item.name}", item.parameters) for item in run.certified]
    blocks += [_listing(f"Attack {item.name}", item.parameters) for item in run.attacked]
    blocks += [_listing(f"Audit {item.name}", item.parameters) for item in run.audited]
    blocks += [_listing(f"Three classes {item.name}", item.parameters) for item in run.triangles]
    where = element("p", f"Read from {run.path}", attributes={"class": "remark"})
    return details(run.name, where, *blocks)


def _listing(title: str, values: Mapping[str, Any]) -> Safe:
    return details(title, table(title, ["parameter", "value"], setting_rows(values), words=(0, 1)))
