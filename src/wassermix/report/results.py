"""The page's tables of results: how runs were trained, attacked, certified, and compared image by image."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wassermix.certify.bounds import false_certificates
from wassermix.core.intervals import Share
from wassermix.report.compare import (
    Comparison,
    attack_groups,
    cautions,
    certified_groups,
    crossings,
    group_name,
    one_each,
)
from wassermix.report.figures import Curve, certified_curves, curve_of_rows
from wassermix.report.markup import Safe, element, escape, join, table
from wassermix.report.records import Attacked, CertifiedSet, RunRecord
from wassermix.report.vector import inline_svg
from wassermix.report.verdict import audit_groups, other_weights, smoothness, variation, verdict
from wassermix.report.wording import interval, number, p_value, percent, points, settings

__all__ = [
    "attacked_section",
    "certified_section",
    "compared_section",
    "headline",
    "opening",
    "overview_section",
]

Group = list[tuple[RunRecord, CertifiedSet]]
AHEAD = 0.05
"""A difference is named in the headline when Holm's adjusted p is below this."""


def headline(runs: Sequence[RunRecord], tests: Sequence[Comparison]) -> Safe:
    """What the runs show, in sentences that the tests bear out."""
    sure = [test for test in tests if test.adjusted < AHEAD]
    duels = dict.fromkeys(_better_first(test) for test in sure)
    lines: list[object] = [
        _ahead(duel, [test for test in sure if _better_first(test) == duel]) for duel in duels
    ]
    if tests and not sure:
        lines.append(
            f"No difference in accuracy between the runs is beyond chance: {len(tests)} paired tests, "
            f"none with a p below {AHEAD} after Holm's correction."
        )
    lines += smoothness(runs)
    if len(runs) == 1:
        lines += [*verdict(runs[0])]
    lines += cautions(runs)
    lines += [warning for run in runs if (warning := other_weights(run)) is not None]
    return (
        element("ul", *(element("li", line) for line in lines), attributes={"class": "headline"})
        if lines
        else Safe("")
    )


def overview_section(runs: Sequence[RunRecord]) -> Safe:
    """One row per run: how it was trained, and its clean, attacked and certified accuracy at a glance."""
    columns = [*_attack_columns(runs), *_certified_columns(runs)]
    between = [{name: f"{variation(one):.2f}" for name, one in group.items()} for group in audit_groups(runs)]
    rows = [
        [
            _run_label(runs, run),
            _share(run.clean),
            *(_share(by.get(run.name)) for _, by in columns),
            *(by.get(run.name, "–") for by in between),
            *settings(run).values(),
        ]
        for run in runs
    ]
    caption = "How each run was trained and how it holds up: per cent of images, 95% interval below."
    results = ["clean accuracy", *(name for name, _ in columns)]
    results += ["total variation between classes" for _ in between]
    first = 1 + len(results)
    head = ["run", *results, "method", "augment", "regularizer", "updates", "passes"]
    shown = table(caption, head, rows, words=(0, first, first + 1, first + 2))
    return join([shown, *_training_notes(runs)])


def _attack_columns(runs: Sequence[RunRecord]) -> Iterator[tuple[str, dict[str, Share]]]:
    for group in attack_groups(runs).values():
        yield f"under {group[0][1].title}", {name: item.robust for name, (_, item) in one_each(group).items()}


def _certified_columns(runs: Sequence[RunRecord]) -> Iterator[tuple[str, dict[str, Share]]]:
    """Each protocol at the middle one of its radii."""
    for protocol, group in certified_groups(runs).items():
        radii = sorted({radius for _, item in group for radius in item.table})
        if radii:
            radius = radii[len(radii) // 2]
            kept = [(run, item) for run, item in group if radius in item.table]
            found = {name: item.table[radius] for name, (_, item) in one_each(kept).items()}
            yield f"certified at r = {radius:g} ({group_name(protocol, group)})", found


def attacked_section(runs: Sequence[RunRecord]) -> Safe:
    """One table per attack, with what its sanity checks say."""
    return join(_attack_table(runs, group) for group in attack_groups(runs).values())


def opening(runs: Sequence[RunRecord], lead: str, below: Safe) -> Safe:
    """The sentence that a page begins with, what stands below it, and beside both what is proved."""
    groups = [(group_name(protocol, group), group) for protocol, group in certified_groups(runs).items()]
    said = element("div", element("p", lead, attributes={"class": "opening"}), below)
    if not groups:
        return said
    picture = _picture(runs, *groups[0], "What is proved, at a glance")
    return element("div", said, picture, attributes={"class": "pair"})


def certified_section(runs: Sequence[RunRecord]) -> Safe:
    """A table and a picture for each protocol; numbers of two protocols are never in one table."""
    groups = certified_groups(runs).items()
    return join(_certified_block(runs, group_name(protocol, group), group) for protocol, group in groups)


def compared_section(tests: Sequence[Comparison]) -> Safe:
    """Every paired test: images that only one of two runs gets right, and the exact p."""
    rows = [
        [
            join([test.measure, element("span", test.protocol, attributes={"class": "protocol"})]),
            test.first,
            test.second,
            test.result.first_only,
            test.result.second_only,
            points(test.gain),
            f"{points(-test.result.high)} to {points(-test.result.low)}",
            p_value(test.result.p_value),
            p_value(test.adjusted),
        ]
        for test in tests
    ]
    head = [
        "measure",
        "first run",
        "second run",
        "only first right",
        "only second right",
        "second − first (points)",
        "95% interval",
        "exact p",
        "Holm's p",
    ]
    caption = "The same images seen by two runs: how many only one of them gets right."
    return table(caption, head, rows, words=(0, 1, 2))


def _better_first(test: Comparison) -> tuple[str, str, str]:
    """The better run, the worse one, and the protocol of a test."""
    runs = (test.second, test.first) if test.gain > 0 else (test.first, test.second)
    return (*runs, test.protocol)


def _ahead(duel: tuple[str, str, str], tests: Sequence[Comparison]) -> Safe:
    better, worse, protocol = duel
    gains = "; ".join(f"{test.measure} by {abs(100 * test.gain):.1f} points" for test in tests)
    images = max(test.images for test in tests)
    basis = f"{protocol}; paired on {images:,} images" if protocol else f"paired on {images:,} images"
    return join([element("strong", better), f" is ahead of {worse} beyond chance: {gains} ({basis})."])


def _training_notes(runs: Sequence[RunRecord]) -> Iterator[Safe]:
    updates = {run.updates for run in runs if not run.is_log}
    if len(runs) > 1 and len(updates) == 1 and None not in updates:
        yield element("p", "All runs made the same number of updates.", attributes={"class": "remark"})
    for note in dict.fromkeys(note for run in runs for note in run.notes):
        yield element("p", element("strong", "About the data: "), note, attributes={"class": "note"})
    for warning in (warning for run in runs for warning in run.warnings):
        yield element("p", warning, attributes={"class": "note"})


def _attack_table(runs: Sequence[RunRecord], group: list[tuple[RunRecord, Attacked]]) -> Safe:
    name = group[0][1].title
    rows = []
    for run, attack in group:
        fall = f"{100 * (attack.clean.accuracy - attack.robust.accuracy):.1f}"
        rows.append(
            [
                _run_label(runs, run),
                _share(attack.clean),
                _share(attack.robust),
                fall,
                f"{attack.robust.images:,}",
                _checks(attack),
            ]
        )
    head = ["run", "clean accuracy", "attacked accuracy", "fall (points)", "images", "sanity checks"]
    title = element("h3", f"Under {name}")
    detail = ", ".join(f"{key} {number(value)}" for key, value in group[0][1].protocol if value is not None)
    caption = f"Accuracy before and after the attack ({detail})."
    return join([title, table(caption, head, rows, words=(0, 5))])


def _checks(attack: Attacked) -> Safe:
    failed = [check for check in attack.checks if not check.passed]
    if not attack.checks:
        return escape("none recorded")
    if not failed:
        return escape(f"all {len(attack.checks)} passed")
    items = [element("li", element("strong", f"{check.name}: "), check.message) for check in failed]
    words = element("p", "Take this as an upper bound only.")
    return element("div", words, element("ul", *items), attributes={"class": "checks"})


def _certified_block(runs: Sequence[RunRecord], protocol: str, group: Group) -> Safe:
    title = element("h3", f"Certified accuracy: {protocol}")
    picture = _picture(runs, protocol, group, "Certified accuracy over the ℓ2 radius")
    remarks = [element("li", f"{sentence}.") for sentence in crossings(group)]
    statements = element(
        "ul", *remarks, *(_set_statement(run, item) for run, item in group), attributes={"class": "remarks"}
    )
    return join(
        [
            title,
            _certified_table(runs, group, protocol),
            _sureness_table(runs, group),
            element("div", picture, statements, attributes={"class": "pair"}),
        ]
    )


def _picture(runs: Sequence[RunRecord], protocol: str, group: Group, title: str) -> Safe:
    curves = [_curve(_legend_name(group, run, item), item, _number(runs, run)) for run, item in group]
    words = f"{title}; bands are 95% intervals."
    described = f"{words} Protocol: {protocol}."
    return element("figure", inline_svg(certified_curves(curves), described), element("figcaption", words))


def _certified_table(runs: Sequence[RunRecord], group: Group, protocol: str) -> Safe:
    radii = sorted({radius for _, item in group for radius in item.radii})
    with_acr = any(item.acr is not None for _, item in group)
    rows = []
    for run, item in group:
        row: list[object] = [
            _run_label(runs, run, _legend_name(group, run, item)),
            number(item.parameters.get("sigma")),
            f"{item.images:,}",
            _draws(item),
        ]
        row[1:1] = [f"{item.acr:.3f}" if item.acr is not None else "–"] if with_acr else []
        rows.append(row + [_share(item.table.get(radius)) for radius in radii])
    head = ["run", *(["ACR"] if with_acr else []), "sigma", "images", "mean draws"]
    head += [f"r = {radius:g}" for radius in radii]
    caption = f"Certified accuracy in per cent at each radius, 95% interval below ({protocol})."
    if with_acr:
        caption += " ACR: average certified radius, comparable within this table only."
    return table(caption, head, rows)


def _sureness_table(runs: Sequence[RunRecord], group: Group) -> Safe:
    """What an average radius hides: how many images are right at all, and how many surely so."""
    levels = sorted({p for _, item in group for p in item.sureness})
    if not levels:
        return join([])
    rows: list[list[object]] = [
        [
            _run_label(runs, run, _legend_name(group, run, item)),
            *(_share(item.sureness.get(p)) for p in levels),
        ]
        for run, item in group
    ]
    caption = (
        "Share of images in per cent whose label has probability p_A of at least p under noise; below it a "
        "95% band for all p at once. A larger ACR with fewer images at p = 0.5 has given up hard images."
    )
    return table(caption, ["run", *(f"p = {p:g}" for p in levels)], rows)


def _draws(item: CertifiedSet) -> str:
    draws = item.parameters.get("draws")
    mean = draws.get("mean") if isinstance(draws, dict) else None
    return f"{mean:,.0f}" if isinstance(mean, int | float) else "–"


def _curve(label: str, item: CertifiedSet, series: int) -> Curve:
    return curve_of_rows(label, item, series=series)


def _set_statement(run: RunRecord, item: CertifiedSet) -> Safe:
    """What holds for the whole set, since each certificate alone may be false with probability alpha."""
    alpha = item.parameters.get("alpha")
    name = element("strong", run.name)
    if not isinstance(alpha, float) or not item.images:
        return element(
            "li", name, ": the log does not tell alpha, so nothing can be said about the set as a whole."
        )
    stored = item.parameters.get("expected_false")
    expected = float(stored) if isinstance(stored, int | float) else alpha * item.images
    worst = false_certificates(item.images, alpha)
    first = min(item.table, default=0.0)
    count = round(item.table[first].accuracy * item.images)
    sure = max(count - worst, 0)
    return element(
        "li",
        name,
        f": {item.images:,} images at alpha {alpha:g}: at most {expected:g} false certificates are expected, "
        f"and with 95% confidence no more than {worst}. So of the {count:,} images certified at radius "
        f"{first:g}, at least {sure:,} ({percent(sure / item.images)} of the set) are truly robust there. "
        f"{_spacing(item)} {_reach(item)}",
    )


def _reach(item: CertifiedSet) -> str:
    """The radius beyond which not even flawless draws prove anything."""
    settings, reach = item.result.settings, item.result.reach
    if settings is None or not 0 < reach < math.inf or reach >= max(item.radii):
        return ""
    return f"With {settings.n:,} draws no radius above {reach:.2f} can be proved for any image."


def _spacing(item: CertifiedSet) -> str:
    every = item.parameters.get("every")
    if not isinstance(every, int | float) or every <= 1:
        return ""
    return f"The images are one in {every:.3g} of the split, evenly spaced."


def _share(share: Share | None) -> Safe:
    if share is None:
        return escape("–")
    low_high = element("span", interval(share), attributes={"class": "interval"})
    return join([element("span", percent(share.accuracy), attributes={"class": "value"}), low_high])


def _number(runs: Sequence[RunRecord], run: RunRecord) -> int:
    return [one.name for one in runs].index(run.name)


def _run_label(runs: Sequence[RunRecord], run: RunRecord, words: str = "") -> Safe:
    """A run's name behind a swatch in its colour."""
    shape: dict[str, object] = {"class": f"swatch series{_number(runs, run) % 8}", "aria-hidden": "true"}
    return join([element("span", attributes=shape), words or run.name])


def _legend_name(group: Group, run: RunRecord, item: CertifiedSet) -> str:
    several = sum(other is run for other, _ in group) > 1
    return f"{run.name} · {item.name}" if several else run.name
