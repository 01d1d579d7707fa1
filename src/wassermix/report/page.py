"""The report: one HTML page that needs no network, written from run directories alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from wassermix.files import write_text
from wassermix.report.compare import comparisons
from wassermix.report.figures import training_curves
from wassermix.report.geodesics import audits_of, explorer, film_strip, geodesic_section
from wassermix.report.markup import Safe, details, element, join, table
from wassermix.report.reading import load_runs
from wassermix.report.records import RunRecord
from wassermix.report.results import (
    attacked_section,
    certified_section,
    compared_section,
    headline,
    overview_section,
)
from wassermix.report.vector import inline_svg
from wassermix.report.wording import setting_rows

__all__ = ["ReportSummary", "write_report"]

QUIET = (
    "epoch",
    "seconds",
    "images",
    "memory",
    "update",
    "step",
    "lr",
    "learning_rate",
    "time",
    "passes",
    "version",
)
"""Beginnings of metric names that say how fast, not how well, a training went."""
PANELS = 8


@dataclass(frozen=True)
class ReportSummary:
    """What was written: the page, its size, the runs on it, and what would make it fuller."""

    path: Path
    bytes: int
    runs: tuple[str, ...]
    missing: tuple[str, ...]


def write_report(runs: list[Path], out: Path) -> ReportSummary:
    """Write one self-contained page about ``runs`` (run directories or ``.tsv`` logs) to ``out``."""
    records = load_runs([Path(run) for run in runs])
    page = build_page(records)
    write_text(out, page)
    names = tuple(run.name for run in records)
    missing = tuple(line for what in COMMANDS for line in _missing(records, what))
    return ReportSummary(out, len(page.encode("utf-8")), names, missing)


def build_page(runs: Sequence[RunRecord]) -> str:
    """The page as text."""
    tests = comparisons(runs)
    audits = audits_of(runs)
    sections = [
        _section("overview", "Results at a glance", [headline(runs, tests), overview_section(runs)]),
        _section(
            "certified",
            "What is proved",
            [_about_certificates(runs), certified_section(runs), *_absent(runs, "certify")],
        ),
        _section(
            "attacked",
            "What attacks find",
            [_about_attacks(runs), attacked_section(runs), *_absent(runs, "attack")],
        ),
        _section("compared", "Run against run, image by image", [_about_tests(), compared_section(tests)])
        if tests
        else Safe(""),
        _section("morph", "From one class to another", [_about_morph(), MOUNT, film_strip(audits)])
        if audits
        else Safe(""),
        _section(
            "geodesics",
            "Between the classes",
            [_about_geodesics(), geodesic_section(audits)] if audits else [],
        )
        if audits
        else Safe(""),
        _audit_absent(runs, bool(audits)),
        _section("training", "Training", [_training(runs), *_absent(runs, "train")]),
        _section("parameters", "Every parameter", [_parameters(run) for run in runs]),
    ]
    title = " · ".join(run.name for run in runs)
    return Template(_part("page.html")).substitute(
        title=element("title", f"wassermix report: {title}"),
        heading=element(
            "p", f"{len(runs)} run{'s' if len(runs) != 1 else ''}: {title}", attributes={"class": "runs"}
        ),
        style=_part("page.css"),
        script=_part("page.js"),
        contents=_contents(sections),
        sections=join(sections, "\n"),
        data=explorer(audits) if audits else "",
        version=element("span", f"wassermix {version('wassermix')}"),
    )


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


def _absent(runs: Sequence[RunRecord], what: str) -> list[Safe]:
    if what == "train":
        lines = [
            f"{run.name} has no training curve: it is not from `wassermix train`."
            for run in runs
            if not run.metrics
        ]
    else:
        lines = list(_missing(runs, what))
    return [element("p", line, attributes={"class": "absent"}) for line in lines]


def _audit_absent(runs: Sequence[RunRecord], some: bool) -> Safe:
    lines = _absent(runs, "audit")
    if not lines:
        return Safe("")
    return join(lines) if some else _section("geodesics", "Between the classes", lines)


def _section(name: str, title: str, parts: Sequence[object]) -> Safe:
    return element("section", element("h2", title), *parts, attributes={"id": name})


def _contents(sections: Sequence[Safe]) -> Safe:
    """Links to the sections that are there."""
    import re

    found = [re.match(r'<section id="([a-z]+)"><h2>([^<]*)</h2>', section) for section in sections]
    links = [
        element("a", Safe(one.group(2)), attributes={"href": f"#{one.group(1)}"}) for one in found if one
    ]
    return element("nav", *links, attributes={"aria-label": "Sections"})


def _part(name: str) -> str:
    return (files("wassermix.report") / name).read_text(encoding="utf-8")


def _lead(text: str) -> Safe:
    return element("p", text, attributes={"class": "lead"})


def _about_certificates(runs: Sequence[RunRecord]) -> Safe:
    return (
        _lead(
            "Randomized smoothing proves, with probability at least 1 − alpha for each image, that no disturbance "
            "shorter than the radius changes the smoothed classifier's answer. Certified accuracy at r is the share "
            "of images that are classified rightly with a radius of at least r. Modes and numbers of draws differ in "
            "what they can prove, so each has a table of its own."
        )
        if any(run.certified for run in runs)
        else Safe("")
    )


def _about_attacks(runs: Sequence[RunRecord]) -> Safe:
    return (
        _lead(
            "An attack looks for a disturbance within eps that changes the answer. Attacked accuracy is an upper bound "
            "on robust accuracy: a stronger attack may find more. Where a sanity check fails, the attack was probably "
            "too weak."
        )
        if any(run.attacked for run in runs)
        else Safe("")
    )


def _about_tests() -> Safe:
    return _lead(
        "Two runs that saw the same images are compared by the images that only one of them gets right (McNemar's "
        "exact test). Holm's p allows for the number of tests on this page: below 0.05, the difference is unlikely "
        "to be chance."
    )


def _about_morph() -> Safe:
    return _lead(
        "Move along a Wasserstein geodesic from one class to another, and see what the model makes of it. "
        "Arrow keys move the slider; page-up and page-down move it faster."
    )


def _about_geodesics() -> Safe:
    return _lead(
        "The performance geodesic: the model's loss on samples that optimal transport carries from one class to "
        "another. KL is the cross-entropy to the mixed label less that label's own entropy, so 0 is perfect at every t."
    )


def _training(runs: Sequence[RunRecord]) -> Safe:
    lines = {run.name: run.metrics for run in runs if run.metrics}
    keys = dict.fromkeys(key for one in lines.values() for line in one for key in line)
    shown = [key for key in keys if not key.startswith(QUIET)][:PANELS]
    figures = []
    for key in shown:
        words = f"{key} over the epochs."
        picture = inline_svg(training_curves(lines, key), f"Training: {words}")
        figures.append(element("figure", picture, element("figcaption", words)))
    return element("div", *figures, attributes={"class": "grid"}) if figures else Safe("")


def _parameters(run: RunRecord) -> Safe:
    blocks = [_listing("Configuration (config.yaml)", run.config)] if run.config else []
    blocks += [_listing(f"Certification {item.name}", item.parameters) for item in run.certified]
    blocks += [_listing(f"Attack {item.name}", item.parameters) for item in run.attacked]
    blocks += [_listing(f"Audit {item.name}", item.parameters) for item in run.audited]
    where = element("p", f"Read from {run.path}", attributes={"class": "remark"})
    return details(run.name, where, *blocks)


def _listing(title: str, values: object) -> Safe:
    assert hasattr(values, "items"), "parameters are named"
    return details(title, table(title, ["parameter", "value"], setting_rows(values), text=2))  # type: ignore[arg-type]
