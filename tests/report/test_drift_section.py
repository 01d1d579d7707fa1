"""The section about data without labels says what the stored checks say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report.pages import Page
from report.synthetic_runs import write_drift, write_run
from wassermix.report import write_report


def page_of(folder: Path, p_values: tuple[float, float], **changes: object) -> Page:
    """The page of a run whose check found these p values."""
    run = write_run(folder / "run", images=40)
    write_drift(run)
    path = run / "drift" / "darker.json"
    record = json.loads(path.read_text())
    tests = [{**test, "p_value": p} for test, p in zip(record["tests"], p_values)]
    path.write_text(json.dumps({**record, "tests": tests, **changes}))
    write_report([run], folder / "page.html")
    return Page((folder / "page.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("p_values", "drifted", "words"),
    [((0.03, 0.6), False, "not shown (p 0.06)"), ((0.9, 0.02), True, "yes (p 0.04)")],
)
def test_drift_is_told_by_the_corrected_test(
    tmp_path: Path, p_values: tuple[float, float], drifted: bool, words: str
) -> None:
    """Two spaces: Holm doubles the smaller p, which a reader would else take for the test's."""
    head, row = page_of(tmp_path, p_values, drifted=drifted).table("Accuracy on new data")
    assert dict(zip(head, row))["drift (Holm's p)"] == words


def test_notes_stand_beside_doubts(tmp_path: Path) -> None:
    said = {"doubts": ["the estimators disagree"], "notes": ["60 of 900 new samples were used"]}
    text = page_of(tmp_path, (0.5, 0.5), **said).text
    assert "Doubt: the estimators disagree." in text
    assert "Note: 60 of 900 new samples were used." in text
