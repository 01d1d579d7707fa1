"""The page of verdicts: every claim of the paper, what was measured against which control, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wassermix.experiments.statistics import Answer
from wassermix.experiments.studies import study_names
from wassermix.experiments.table import Table
from wassermix.experiments.verdicts import SMALL, Claim, Verdict, judge_study, judge_table

__all__ = ["overall", "verdict_page"]

HEAD = """# Verdicts

Every claim of the paper, what was measured, against which control, and what it says. Made by `make docs`
from the files under `results/`. A claim **holds** where a difference is shown its way (or, for a claim of no
difference, where equivalence is shown); it **does not hold** where one is shown the other way, or where the
two are shown to be equivalent: two one-sided tests within a margin that is stated in the table's file, for
new tables before they are run. Otherwise it **cannot be
told**. A difference that is shown, but shown to be smaller than the margin as well, is answered as a
difference, and the line says that it is small. Within a table Holm's correction runs over its tests of
difference, and likewise over its tests of equivalence; the level is 5%. Intervals are 95%, not corrected,
paired over images and over seeds. With one seed an interval speaks of two networks and not of two methods, so
that nothing can be told, whatever it says. Measurements are at reduced scale (short trainings) unless the
command says `--scale paper`.
"""


def verdict_page(claims: Mapping[str, Claim], tables: Mapping[str, Table], records: Mapping[str, Any]) -> str:
    """The whole page; ``records`` has the record of each table and study that was run, by name."""
    judged = [one for name, table in tables.items() for one in judge_table(name, table, records.get(name))]
    for name, table in tables.items():
        if (full := records.get(f"{name}-paper")) is not None:
            judged += judge_table(f"{name} --scale paper", table, full)
    judged += [one for name in study_names() for one in judge_study(name, claims, records.get(name))]
    by_claim = {name: [one for one in judged if one.claim == name] for name in claims}
    lines = [HEAD, *_summary(claims, by_claim), "## Claim by claim", ""]
    for name, claim in claims.items():
        lines += _section(name, claim, by_claim[name], records)
    return "\n".join([*lines, *_notes(tables, judged)]).rstrip() + "\n"


def overall(claim: Claim, verdicts: Sequence[Verdict]) -> str:
    """The answer to a claim from all its tests: they must agree for it to hold or not to hold."""
    if claim.proved is not None:
        return claim.proved
    measured = [one for one in verdicts if one.answer is not None and not one.premise]
    if not measured:
        return "not measured yet"
    told = [one for one in measured if one.answer != "cannot be told"]
    answers: set[Answer | None] = {one.answer for one in told}
    if len(answers) > 1:
        return "differs by setting"
    if not told:
        return "cannot be told"
    where = "" if len(told) == len(measured) else " where it can be told"
    size = f", by differences {SMALL}" if all(SMALL in one.remarks for one in told) else ""
    return f"{told[0].answer}{where}{size}"


def _summary(claims: Mapping[str, Claim], by_claim: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    yield "| claim | verdict |"
    yield "|---|---|"
    for name, claim in claims.items():
        yield f"| [{claim.says}](#{name}) | {overall(claim, by_claim[name])} |"
    yield ""


def _section(
    name: str, claim: Claim, verdicts: Sequence[Verdict], records: Mapping[str, Any]
) -> Iterator[str]:
    yield f'<a id="{name}"></a>'
    yield ""
    yield f"### {claim.says}"
    yield ""
    yield f"The paper: {claim.where}. {claim.note}".rstrip()
    yield f"Verdict: **{overall(claim, verdicts)}**. {claim.because}".rstrip()
    if claim.sentence is not None and (record := records.get(claim.sentence[0])):
        yield f"`wassermix reproduce {claim.sentence[0]}`: {record['summary'][claim.sentence[1]]}"
    yield ""
    measured = [one for one in verdicts if one.measured is not None]
    if measured:
        heads = ("measured in", "what the claim expects", "seeds", "difference", "95% interval", "margin")
        yield f"| {' | '.join([*heads, 'verdict'])} |"
        yield "|---|---|---|---|---|---|---|"
        yield from map(_line, measured)
        yield ""
    if missing := list(dict.fromkeys(one.source for one in verdicts if one.measured is None)):
        commands = ", ".join(f"`wassermix reproduce {source}`" for source in missing)
        which = "Its other tests lack a row or its images" if measured else "Not measured yet"
        yield f"{which}: {commands}."
        yield ""


def _line(one: Verdict) -> str:
    assert one.measured is not None
    estimate = one.measured.estimate
    low, high = estimate.interval()
    remarks = [*(["a premise, no answer"] if one.premise else []), *one.remarks]
    answer = f"{one.answer}" + (f" ({'; '.join(remarks)})" if remarks else "")
    margin = f"{one.margin:g}" + (" (stated after)" if one.stated == "after" else "")
    cells = [f"`{one.source}`", one.what, str(one.measured.seeds), f"{estimate.mean:+.4f}"]
    return f"| {' | '.join([*cells, f'{low:+.4f} to {high:+.4f}', margin, answer])} |"


def _notes(tables: Mapping[str, Table], judged: Sequence[Verdict]) -> Iterator[str]:
    """What the settings were in tables that were measured under other defaults than today's."""
    shown = {one.source for one in judged if one.measured is not None}
    notes = [
        f"- `{name}`: {table.measured_as}"
        for name, table in tables.items()
        if name in shown and table.measured_as
    ]
    if notes:
        yield "## What was compared"
        yield ""
        yield from notes
