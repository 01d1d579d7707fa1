"""From the tests of the tables and their records to a verdict on each claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from wassermix.certify.crossings import ON_GRID
from wassermix.certify.rule import rounds_down
from wassermix.core.intervals import holm
from wassermix.experiments.statistics import LEVEL, Answer, Estimate, decide, equivalence, estimate_of
from wassermix.experiments.table import ClaimTest, Table

__all__ = ["SMALL", "Claim", "Measured", "Verdict", "judge_study", "judge_table", "load_claims"]

Record = Mapping[str, Any]
PAIRS_OF_CLASSES = 45
"""Of ten classes; what an audit of digits compares."""
KEYS = {"radius": "acr_difference", "clean": "clean_difference", "variation": "variation_difference"}


class StudyTest(BaseModel):
    """How a study tests a claim: the difference that its record holds under ``path``."""

    model_config = ConfigDict(extra="forbid")
    study: str
    what: str
    path: tuple[str, ...]
    expects: Literal["higher", "lower", "same"] = "higher"
    margin: float
    stated: Literal["before", "after"] = "before"


class Claim(BaseModel):
    """A claim of the paper: what it says and where; ``proved`` is the answer where mathematics decides."""

    model_config = ConfigDict(extra="forbid")
    says: str
    where: str
    studies: tuple[StudyTest, ...] = ()
    proved: Answer | None = None
    because: str = ""
    sentence: tuple[str, int] | None = None
    note: str = ""


@dataclass(frozen=True)
class Measured:
    """A difference that was measured, and how."""

    estimate: Estimate
    seeds: int
    paired: bool = True


@dataclass(frozen=True)
class Verdict:
    """One test of a claim with its answer; ``measured`` is None where it has not been run."""

    source: str
    """The table or study."""
    claim: str
    what: str
    margin: float
    stated: str
    answer: Answer | None = None
    measured: Measured | None = None
    remarks: tuple[str, ...] = ()
    premise: bool = False
    """Whether it is a condition of the claim, and no answer to it."""


def load_claims() -> dict[str, Claim]:
    """The paper's claims by name, from ``claims.yaml`` beside this file."""
    raw = yaml.safe_load(files(__package__).joinpath("claims.yaml").read_text(encoding="utf-8"))
    return {name: Claim.model_validate(own) for name, own in raw.items()}


def judge_table(name: str, table: Table, record: Record | None) -> list[Verdict]:
    """A verdict for each of the table's tests; Holm's correction runs over those that were measured."""
    found = [None if record is None else _measured(test, record) for test in table.tests]
    tests = [(test.expects, test.margin) for test in table.tests]
    answers = _answers(tests, found)
    return [
        Verdict(
            name,
            test.claim,
            _words(test, table),
            test.margin,
            test.stated,
            answer,
            measured,
            (*remarks, *_collapsed(test, record)),
            test.premise,
        )
        for test, measured, (answer, remarks) in zip(table.tests, found, answers)
    ]


def judge_study(name: str, claims: Mapping[str, Claim], record: Record | None) -> list[Verdict]:
    """The same for the tests that claims name in a study's record."""
    tests = [(claim, test) for claim, own in claims.items() for test in own.studies if test.study == name]
    found = [None if record is None else _from_study(test, record) for _, test in tests]
    answers = _answers([(test.expects, test.margin) for _, test in tests], found)
    return [
        Verdict(name, claim, test.what, test.margin, test.stated, answer, measured, remarks)
        for (claim, test), measured, (answer, remarks) in zip(tests, found, answers)
    ]


Told = tuple[Answer | None, tuple[str, ...]]
"""An answer and what must be said with it."""
SMALL = "smaller than the margin"


def _answers(tests: list[tuple[Any, float]], found: list[Measured | None]) -> list[Told]:
    """Answers in the order of the tests; those not measured have none and do not count in the correction."""
    known = [place for place, measured in enumerate(found) if measured is not None]
    estimates = [measured.estimate for measured in found if measured is not None]
    different = holm([estimate.p_difference for estimate in estimates])
    alike = holm([equivalence(estimate, tests[place][1]) for place, estimate in zip(known, estimates)])
    answers: list[Told] = [(None, ())] * len(tests)
    for place, estimate, p, q in zip(known, estimates, different, alike):
        expects, margin = tests[place]
        answer = decide(expects, estimate.mean, p_difference=p, p_equivalence=q, margin=margin)
        small = expects != "same" and q < LEVEL and p < LEVEL
        answers[place] = _with_caution(answer, found[place], small=small)
    return answers


def _with_caution(answer: Answer, measured: Measured | None, *, small: bool) -> Told:
    """One seed is one pair of networks, whatever they differ by; a difference within the margin is small."""
    if measured is not None and not measured.paired:
        return "cannot be told", ("images not paired: the interval counts images alone, not seeds",)
    if measured is not None and measured.seeds == 1:
        return "cannot be told", ("one seed: the interval speaks of these two networks only",)
    return answer, (SMALL,) if small else ()


COLLAPSED = 0.15
"""A network that is right on no more has learnt nothing: of ten classes a constant answer gets a tenth."""


def _collapsed(test: ClaimTest, record: Record | None) -> Iterator[str]:
    """What must be said of rows whose networks have collapsed: little else of them counts."""
    for name in (test.row, test.control):
        row = {} if record is None else record["results"].get(name, {})
        clean = [attack["clean_accuracy"] for attack in row.get("attacks", ())]
        if clean and clean[0] <= COLLAPSED:
            yield f"{name} is right on {clean[0]:.0%} of the images without attack: it collapsed"


def _measured(test: ClaimTest, record: Record) -> Measured | None:
    """What a table's record says about a test, or None."""
    found = _comparison(test, record)
    gap = None if found is None else _gap(test, found)
    if found is not None and gap is not None:
        seeds, units = int(found["seeds"]), _units(test, record)
        told = "error" in gap or units is not None  # a difference that keeps its error needs no count
        return Measured(estimate_of(gap, seeds=seeds, units=units or 1), seeds) if told else None
    return _unpaired(test, record) if test.measure in ("attacked", "clean") else None


def _comparison(test: ClaimTest, record: Record) -> Record | None:
    """The comparison of the test's two rows, wherever a record of this or an earlier version keeps it."""
    for one in record.get("tested", ()):
        if (one["row"], one["control"]) == (test.row, test.control):
            return one  # type: ignore[no-any-return]
    if record["control"] == test.control and test.row in record["against_control"]:
        return record["against_control"][test.row]  # type: ignore[no-any-return]
    if record.get("against", {}).get(test.row) == test.control:
        return record.get("against_rows", {}).get(test.row)  # type: ignore[no-any-return]
    return None


def _gap(test: ClaimTest, found: Record) -> Record | None:
    if test.measure == "certified":
        return next((cell for cell in found.get("at_radius", ()) if cell["radius"] == test.at), None)
    if test.measure == "attacked":
        gaps = found.get("attacked_difference", ())
        return gaps[int(test.at or 0)] if gaps else None
    return found.get(KEYS[test.measure])


def _units(test: ClaimTest, record: Record) -> int | None:
    """Over how many images, or pairs of classes, a difference was averaged; None where nothing says it."""
    if test.measure == "variation":
        return PAIRS_OF_CLASSES
    which = int(test.at or 0)
    plan = record["attacks"][which] if test.measure in ("attacked", "clean") else record["certify"]
    if plan["images"] != "all":
        return int(plan["images"])
    runs = record.get("runs", {}).get(test.row)
    return len(runs[0]["attacks"][which]["robust_correct"]) if runs else None


def _unpaired(test: ClaimTest, record: Record) -> Measured | None:
    """From the two rows' own accuracies, where a record of an earlier version has no paired flags."""
    rows = [record["results"].get(name) for name in (test.row, test.control)]
    if any(row is None or not row.get("attacks") for row in rows):
        return None
    if (units := _units(test, record)) is None:
        return None
    key = "robust_accuracy" if test.measure == "attacked" else "clean_accuracy"
    first, second = (row["attacks"][int(test.at or 0)][key] for row in rows)
    error = ((first * (1 - first) + second * (1 - second)) / units) ** 0.5
    # The error is that of the images alone, as of one network each, however many seeds the means are over.
    seeds = min(len(row.get("seeds", [0])) for row in rows)
    return Measured(Estimate(first - second, error, units - 1), seeds, False)


def _from_study(test: StudyTest, record: Record) -> Measured:
    """A study's difference by Student's law over its seeds, as its own page has it."""
    found: Any = record
    for key in test.path:
        found = found[key]
    seeds = len(record["settings"]["seeds"])
    return Measured(Estimate(found["mean"], found["error"], seeds - 1), seeds)


MEASURES = {
    "radius": "average certified radius",
    "clean": "accuracy without attack",
    "variation": "total variation between classes",
}


def _words(test: ClaimTest, table: Table) -> str:
    """``worst t against equal updates: average certified radius higher``."""
    measure = MEASURES.get(test.measure, "")
    if (
        test.measure == "radius"
        and table.certify is not None
        and rounds_down(table.certify.settings(1.0).mode)
    ):
        measure = ON_GRID
    if test.measure == "certified":
        measure = f"accuracy certified at radius {test.at:g}"
    if test.measure == "attacked":
        attack = table.attacks[int(test.at or 0)]
        steps = "one step" if attack.attack == "fgsm" else f"{attack.steps} steps, {attack.restarts} starts"
        measure = f"accuracy under {attack.attack} ({attack.norm}, eps {attack.eps:.3g}, {steps})"
    return f"{test.row} against {test.control}: {measure} {test.expects}"
