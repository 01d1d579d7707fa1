"""The demo goes through all of its steps; here on few digits and few draws."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cli.words import run
from wassermix.cli import demo

SMALL = {
    "PASSES": 400,
    "IMAGES": "6",
    "ATTACK": {**demo.ATTACK, "steps": 2, "images": 6},
    "CERTIFY": {**demo.CERTIFY, "n": 200},
    "AUDIT": {"points": 3, "per_class": 6},
    "DRIFT": {
        "estimator": "joint",
        "samples": 100,
        "reference_samples": 100,
        "permutations": 39,
        "points": 3,
    },
}


@pytest.mark.slow
def test_the_demo_ends_with_its_table_its_sentence_and_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(demo, name, value)
    assert run(monkeypatch, "demo", "--out", tmp_path / "d") == 0
    shown = capsys.readouterr()
    summary = (tmp_path / "d" / "summary.txt").read_text()
    assert max(map(len, summary.splitlines())) <= 80
    for word in (
        "plain",
        "noise",
        "recommended",
        "right under",
        "proved right within l2 1",
        "under fog: truth",
    ):
        assert word in summary
    assert "At equal passes the recommended recipe" in summary
    assert "the page:" in shown.out + shown.err
    assert "Accuracy on new data" in (tmp_path / "d" / "report.html").read_text()


@pytest.mark.parametrize(("ours", "theirs", "word"), [(3, 1, "more than"), (1, 3, "fewer than")])
def test_the_interval_turns_with_the_word(ours: int, theirs: int, word: str) -> None:
    def first(count: int) -> npt.NDArray[np.bool_]:
        return np.arange(10) < count

    told = demo._against(first(ours), first(theirs))
    found = re.fullmatch(r"20\.0 points \(([+-][\d.]+) to ([+-][\d.]+)\) (.*)", told)
    assert found is not None, told
    low, high = float(found[1]), float(found[2])
    assert low < 20 < high
    assert found[3] == word
