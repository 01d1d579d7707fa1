"""Bars on the standard error stream: what is left of a whole command, and no trace of unused ones."""

from __future__ import annotations

import pytest

from wassermix.cli.console import counted, part_of, training
from wassermix.core.whole import Whole


def test_a_bar_inside_a_command_of_parts_tells_what_is_left_of_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    now = [0.0]
    whole = Whole(["train", "judge", "judge"], clock=lambda: now[0])
    with part_of(whole), training("training") as progress:
        now[0] = 60.0
        progress(1.0, "epoch 1")
    with part_of(whole), counted("judging") as count:
        now[0] = 65.0
        count(1, 2)  # half of it in five seconds: five more, and ten for the last part
    shown = capsys.readouterr()
    assert "part 1 of 3" in shown.err
    assert "part 2 of 3, 0:15 left in all" in shown.err
    assert shown.out == ""


def test_a_command_of_one_piece_tells_its_own_time_only(capsys: pytest.CaptureFixture[str]) -> None:
    with counted("judging") as count:
        count(2, 2)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "part" not in shown


def test_a_bar_that_never_appears_leaves_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with counted("downloading"):
        pass
    assert capsys.readouterr().err == ""
