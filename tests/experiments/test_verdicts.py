"""Verdicts: claims and tests name each other, records of every age are read, gaps are named."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from wassermix.experiments import load_claims, study_names, table_names, verdict_page
from wassermix.experiments import load_table as read_table
from wassermix.experiments.answers import overall
from wassermix.experiments.statistics import Estimate
from wassermix.experiments.table import Table
from wassermix.experiments.verdicts import Claim, Verdict, judge_study, judge_table

ROOT = Path(__file__).parents[2]
load_table = cache(read_table)
FIRST = {"claim": "pairing", "row": "ours", "control": "random", "margin": 0.01}


def table(*tests: dict[str, Any]) -> Table:
    return Table.model_validate(
        {
            "title": "T", "recipe": "vectors", "control": "plain", "tests": tests,
            "attacks": [{"attack": "pgd", "norm": "l2", "eps": 2.0, "images": 500}],
            "rows": {"plain": {}, "ours": {}, "random": {}},
        }
    )  # fmt: skip


def gap(mean: float, error: float = 0.001) -> dict[str, float]:
    return {"mean": mean, "low": mean - error, "high": mean + error, "error": error, "freedom": 100.0}


def record(mean: float, *, seeds: int = 3, **more: Any) -> dict[str, Any]:
    tested = [{"row": "ours", "control": "random", "seeds": seeds, "acr_difference": gap(mean)}]
    empty = {"control": "plain", "against_control": {}, "against": {}, "results": {}}
    return {**empty, "certify": {"images": 500}, "attacks": [{"images": 500}], "tested": tested, **more}


def test_every_test_names_a_claim_and_every_claim_has_a_test_or_a_proof() -> None:
    claims = load_claims()
    tested = {test.claim for name in table_names() for test in load_table(name).tests}
    assert tested <= claims.keys()
    for name, claim in claims.items():
        assert (name in tested) or claim.studies or claim.proved, name
        assert all(test.study in study_names() for test in claim.studies)


@pytest.mark.parametrize(
    ("mean", "answer"), [(0.05, "holds"), (-0.05, "does not hold"), (0.0, "does not hold")]
)
def test_a_measured_difference_gets_its_answer(mean: float, answer: str) -> None:
    (verdict,) = judge_table("t", table(FIRST), record(mean))
    assert verdict.answer == answer


def test_one_seed_tells_nothing_about_two_methods() -> None:
    (verdict,) = judge_table("t", table(FIRST), record(0.05, seeds=1))
    assert verdict.answer == "cannot be told"
    assert "one seed" in verdict.remarks[0]


def test_a_difference_smaller_than_the_margin_says_so_in_the_verdict_too() -> None:
    claim = Claim(says="S", where="W")
    small = judge_table("t", table({**FIRST, "margin": 0.5}), record(0.05))
    assert overall(claim, small) == "holds, by differences smaller than the margin"
    large = judge_table("t", table(FIRST), record(0.05))
    assert overall(claim, [*small, *large]) == "holds"


def test_a_premise_is_judged_but_does_not_answer_the_claim() -> None:
    (premise,) = judge_table("t", table({**FIRST, "premise": True}), record(0.05))
    assert premise.answer == "holds"
    assert overall(Claim(says="S", where="W"), [premise]) == "not measured yet"


def test_a_network_that_collapsed_is_named() -> None:
    rows = {
        name: {"attacks": [{"robust_accuracy": 0.1, "clean_accuracy": clean}]}
        for name, clean in (("ours", 0.104), ("random", 0.98))
    }
    (verdict,) = judge_table("t", table(FIRST), record(-0.05, results=rows))
    assert verdict.remarks == ("ours is right on 10% of the images without attack: it collapsed",)


def test_what_was_not_run_has_no_answer_and_does_not_count_in_the_correction() -> None:
    other = {**FIRST, "control": "plain"}
    first, second = judge_table("t", table(FIRST, other), record(0.0021))
    assert (first.answer, second.answer) == ("holds", None)  # p = 0.038: twice that would be too much
    assert judge_table("t", table(FIRST), None)[0].measured is None
    both = record(0.0021, against_control={"ours": {"seeds": 3, "acr_difference": gap(0.0021)}})
    narrow = [{**test, "margin": 0.0001} for test in (FIRST, other)]
    assert {one.answer for one in judge_table("t", table(*narrow), both)} == {"cannot be told"}


def test_attacks_of_early_records_are_compared_without_pairs() -> None:
    rows = {
        name: {"seeds": [0, 1], "attacks": [{"robust_accuracy": share, "clean_accuracy": 0.9}]}
        for name, share in (("ours", 0.6), ("random", 0.5))
    }
    test = {**FIRST, "measure": "attacked", "at": 0}
    (verdict,) = judge_table("t", table(test), record(0.0, tested=[], results=rows))
    assert verdict.measured is not None
    assert not verdict.measured.paired
    assert verdict.measured.estimate.mean == pytest.approx(0.1)
    assert verdict.measured.estimate.error == pytest.approx((0.6 * 0.4 / 500 + 0.25 / 500) ** 0.5)


def attacked_rows(**runs: Any) -> dict[str, Any]:
    """A record whose only attack took all images, with means but without an error in its comparison."""
    rows = {
        name: {"seeds": [0, 1], "attacks": [{"robust_accuracy": share, "clean_accuracy": 0.9}]}
        for name, share in (("ours", 0.6), ("random", 0.5))
    }
    return record(0.0, tested=[], results=rows, attacks=[{"images": "all"}], **runs)


def test_an_attack_on_all_images_counts_those_that_its_runs_have() -> None:
    test = {**FIRST, "measure": "attacked", "at": 0}
    runs = {"ours": [{"attacks": [{"robust_correct": "1" * 400}]}]}
    (verdict,) = judge_table("t", table(test), attacked_rows(runs=runs))
    assert verdict.measured is not None
    assert verdict.measured.estimate.error == pytest.approx((0.6 * 0.4 / 400 + 0.25 / 400) ** 0.5)


def test_an_attack_on_all_images_of_which_nothing_says_how_many_is_not_measured() -> None:
    test = {**FIRST, "measure": "attacked", "at": 0}
    early = {"ours": {"seeds": 2, "attacked_difference": [{"mean": 0.1, "low": 0.0, "high": 0.2}]}}
    for found in (attacked_rows(), attacked_rows(against={"ours": "random"}, against_rows=early)):
        assert judge_table("t", table(test), found)[0].measured is None


def test_an_attack_on_all_images_is_judged_by_the_error_that_its_comparison_kept() -> None:
    test = {**FIRST, "measure": "attacked", "at": 0}
    kept = [{"row": "ours", "control": "random", "seeds": 3, "attacked_difference": [gap(0.1)]}]
    (verdict,) = judge_table("t", table(test), record(0.0, tested=kept, attacks=[{"images": "all"}]))
    assert verdict.answer == "holds"


def test_a_study_is_judged_from_the_difference_in_its_record() -> None:
    test = {"study": "vectors", "what": "a against b", "path": ["overall", "a"], "margin": 0.01}
    claim = Claim.model_validate({"says": "S", "where": "W", "studies": [test]})
    found = {"settings": {"seeds": [0, 1, 2]}, "overall": {"a": {"mean": 0.3, "error": 0.01}}}
    (verdict,) = judge_study("vectors", {"c": claim}, found)
    assert verdict.answer == "holds"
    assert verdict.measured is not None
    assert verdict.measured.estimate == Estimate(0.3, 0.01, 2)


def verdict(answer: Any) -> Verdict:
    return Verdict("t", "c", "w", 0.01, "before", answer)


def test_a_claim_is_answered_by_all_its_tests() -> None:
    claim = Claim(says="S", where="W")
    assert overall(claim, [verdict(None)]) == "not measured yet"
    assert overall(claim, [verdict("holds"), verdict(None)]) == "holds"
    assert overall(claim, [verdict("holds"), verdict("cannot be told")]) == "holds where it can be told"
    assert overall(claim, [verdict("holds"), verdict("does not hold")]) == "differs by setting"
    assert overall(Claim(says="S", where="W", proved="does not hold"), []) == "does not hold"


def test_the_page_in_the_docs_is_made_from_the_results() -> None:
    names = [*table_names(), *(f"{name}-paper" for name in table_names()), *study_names()]
    paths = {name: ROOT / "results" / f"{name}.json" for name in names}
    records = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    tables = {name: load_table(name) for name in table_names()}
    page = verdict_page(load_claims(), tables, records)
    assert (ROOT / "docs" / "verdicts.md").read_text() == page, "make docs writes it anew"
    unmeasured = [name for name in tables if tables[name].tests and name not in records]
    assert all(f"`wassermix reproduce {name}`" in page for name in unmeasured)
