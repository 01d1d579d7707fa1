"""The jobs: stored reference, streams that go on after a kill, alarms that stay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from drift.problems import Corners, classes
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples
from wassermix.data.unlabelled import load_unlabelled
from wassermix.drift.run import check_to_files, prepared_reference, stream_sources, stream_to_files
from wassermix.drift.settings import DriftSettings, StreamSettings

FAST = DriftSettings(permutations=19, resamples=10, points=0, beside=("cot", "plan-input"))
WATCH = StreamSettings(every=100, alarm=5)


def known() -> TensorSamples:
    return TensorSamples(*classes(300, seed=0))


def store(path: Path, x: torch.Tensor) -> Path:
    np.savez(path, x=x.numpy())
    return path


def test_the_reference_is_run_through_the_model_once(tmp_path: Path) -> None:
    calls = 0

    class Counted(Corners):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            nonlocal calls
            calls += len(x)
            return super().forward(x)

    first, _ = prepared_reference(Counted(), known(), FAST, tmp_path)
    second, _ = prepared_reference(Counted(), known(), FAST, tmp_path)
    assert calls == 300
    new = TensorSamples(*classes(50, seed=1))
    assert second.looker.look(new).inputs == pytest.approx(first.looker.look(new).inputs)


def test_a_check_is_kept_refused_and_resumed(tmp_path: Path) -> None:
    new = load_unlabelled(store(tmp_path / "new.npz", classes(100, seed=1)[0]), shape=(4,))
    ask = {"output": Output(tmp_path / "drift"), "settings": FAST, "asked": 20}
    made = check_to_files(Corners(), known(), new, **ask)
    written = json.loads((tmp_path / "drift" / "new.json").read_text())
    assert written["estimate"]["estimate"] == made.estimate.estimate
    assert len((tmp_path / "drift" / "new.ask.csv").read_text().splitlines()) == 21
    with pytest.raises(InputError, match="--resume"):
        check_to_files(Corners(), known(), new, **ask)
    again = check_to_files(
        Corners(), known(), new, **{**ask, "output": Output(tmp_path / "drift", resume=True)}
    )
    assert again.record() == made.record()
    with pytest.raises(InputError, match="hold no labels"):
        check_to_files(Corners(), known(), new, score=True, **ask)


def test_overwriting_leaves_no_questions_of_the_former_check(tmp_path: Path) -> None:
    new = load_unlabelled(store(tmp_path / "x.npz", classes(80, seed=1)[0]), shape=(4,))
    check_to_files(Corners(), known(), new, output=Output(tmp_path, "d"), settings=FAST, asked=5)
    assert (tmp_path / "d.ask.csv").exists()
    again = Output(tmp_path, "d", overwrite=True)
    check_to_files(Corners(), known(), new, output=again, settings=FAST)
    assert not (tmp_path / "d.ask.csv").exists()
    assert (tmp_path / "d.json").exists()


def stream_folder(folder: Path) -> Path:
    """Two quiet files, then two with a shift that costs most of the accuracy."""
    folder.mkdir()
    for number in range(4):
        x = classes(300, seed=10 + number)[0]
        store(folder / f"{number}.npz", x + torch.tensor([4.5 if number > 1 else 0.0, 0, 0, 0]))
    return folder


def test_a_stream_raises_its_alarm_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    sources = stream_sources(stream_folder(tmp_path / "stream"))
    whole = Output(tmp_path / "whole")
    last = stream_to_files(Corners(), known(), sources, output=whole, settings=FAST, watching=WATCH)
    lines = (tmp_path / "whole" / "stream.jsonl").read_text().splitlines()
    assert last is not None
    assert last.alarm
    assert len(lines) == 12
    assert [json.loads(line)["alarm"] for line in lines[:6]] == [False] * 6

    class Killed(Exception):
        pass

    def stop(line: object) -> None:
        raise Killed

    parts = Output(tmp_path / "parts")
    with pytest.raises(Killed):
        stream_to_files(
            Corners(), known(), sources, output=parts, settings=FAST, watching=WATCH, seen=stop
        )  # fmt: skip
    with (tmp_path / "parts" / "stream.jsonl").open("a") as file:
        file.write('{"batch": 1, "sou')  # half a line, as a kill leaves it
    resumed = Output(tmp_path / "parts", resume=True)
    stream_to_files(Corners(), known(), sources, output=resumed, settings=FAST, watching=WATCH)
    assert (tmp_path / "parts" / "stream.jsonl").read_text().splitlines() == lines


def test_files_that_come_later_are_taken_up(tmp_path: Path) -> None:
    sources = stream_sources(stream_folder(tmp_path / "stream"))
    stream_to_files(Corners(), known(), sources[:2], output=Output(tmp_path), settings=FAST, watching=WATCH)
    again = Output(tmp_path, resume=True)
    last = stream_to_files(Corners(), known(), sources, output=again, settings=FAST, watching=WATCH)
    assert last is not None
    assert (last.batch, last.alarm) == (11, True)


def test_a_loss_that_cannot_be_tolerated_is_a_sentence(tmp_path: Path) -> None:
    source = [store(tmp_path / "x.npz", classes(50, seed=1)[0])]
    with pytest.raises(InputError, match="smaller --alarm"):
        stream_to_files(
            Corners(), known(), source, output=Output(tmp_path / "o"), settings=FAST,
            watching=StreamSettings(alarm=99.9),
        )  # fmt: skip
    with pytest.raises(InputError, match="does not exist"):
        stream_sources(tmp_path / "nowhere")
