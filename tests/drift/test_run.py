"""The jobs: stored reference, streams that go on after a kill, alarms that stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from drift.problems import Corners, classes
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.samples import TensorSamples
from wassermix.data.unlabelled import load_unlabelled
from wassermix.drift.folder import read_folder
from wassermix.drift.labelled import FewLabels
from wassermix.drift.run import check_to_files, prepared_reference, stream_sources, stream_to_files
from wassermix.drift.settings import DriftSettings, StreamSettings
from wassermix.drift.stream import cut

FAST = DriftSettings(permutations=39, resamples=10, points=0, beside=("cot", "plan-input"))
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


def test_labels_that_were_filled_in_are_never_overwritten(tmp_path: Path) -> None:
    new = load_unlabelled(store(tmp_path / "x.npz", classes(80, seed=1)[0]), shape=(4,))
    check_to_files(Corners(), known(), new, output=Output(tmp_path, "d"), settings=FAST, asked=20)
    questions = tmp_path / "d.ask.csv"
    filled = questions.read_text().replace(",,", ",1,", 1)
    questions.write_text(filled)
    again = Output(tmp_path, "d", overwrite=True)
    with pytest.raises(InputError, match="filled in, and --overwrite would delete them"):
        check_to_files(Corners(), known(), new, output=again, settings=FAST)
    assert questions.read_text() == filled
    assert (tmp_path / "d.json").exists()


@pytest.mark.parametrize(
    ("labels", "words"), [(np.full(20, 7), "expected 0 to 2"), (np.zeros(4, int), "4 labels are too few")]
)
def test_bad_labels_are_refused_before_anything_is_overwritten(
    tmp_path: Path, labels: np.ndarray, words: str
) -> None:
    new = load_unlabelled(store(tmp_path / "x.npz", classes(80, seed=1)[0]), shape=(4,))
    check_to_files(Corners(), known(), new, output=Output(tmp_path, "d"), settings=FAST)
    again = Output(tmp_path, "d", overwrite=True)
    bad = FewLabels(np.arange(len(labels)), labels)
    with pytest.raises(InputError, match=words):
        check_to_files(Corners(), known(), new, output=again, settings=FAST, labelled=bad)
    assert (tmp_path / "d.json").exists()


def test_a_result_of_other_data_or_labels_is_not_resumed(tmp_path: Path) -> None:
    path, (x, y) = tmp_path / "x.npz", classes(80, seed=1)
    labelled = FewLabels(np.arange(20), y[:20].numpy())
    first = {"output": Output(tmp_path, "d"), "settings": FAST, "labelled": labelled}
    made = check_to_files(Corners(), known(), load_unlabelled(store(path, x), shape=(4,)), **first)
    again = {**first, "output": Output(tmp_path, "d", resume=True)}
    kept = check_to_files(Corners(), known(), load_unlabelled(path, shape=(4,)), **again)
    assert kept.record() == made.record()
    other = {**again, "labelled": FewLabels(labelled.index, (labelled.labels + 1) % 3)}
    with pytest.raises(InputError, match="made with labelled"):
        check_to_files(Corners(), known(), load_unlabelled(path, shape=(4,)), **other)
    changed = load_unlabelled(store(path, x + 1), shape=(4,))
    with pytest.raises(InputError, match="made with new"):
        check_to_files(Corners(), known(), changed, **again)


def test_a_result_of_an_earlier_version_is_still_resumed(tmp_path: Path) -> None:
    new = load_unlabelled(store(tmp_path / "x.npz", classes(80, seed=1)[0]), shape=(4,))
    check_to_files(Corners(), known(), new, output=Output(tmp_path, "d"), settings=FAST)
    record = json.loads((tmp_path / "d.json").read_text())
    earlier = {key: value for key, value in record.items() if key not in ("new", "labelled")}
    (tmp_path / "d.json").write_text(json.dumps(earlier))
    again = Output(tmp_path, "d", resume=True)
    kept = check_to_files(Corners(), known(), new, output=again, settings=FAST).record()
    assert json.loads(json.dumps(kept)) == earlier


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


def rows_of(folder: Path) -> list[tuple[int, int]]:
    lines = [json.loads(line) for line in (folder / "stream.jsonl").read_text().splitlines()]
    return [(line["first"], line["last"]) for line in lines]


def test_no_row_of_a_file_that_has_grown_counts_twice(tmp_path: Path) -> None:
    x, path = classes(3000, seed=1)[0], tmp_path / "x.npz"
    common = {"settings": FAST, "watching": StreamSettings(every=1000, alarm=5)}
    for number, rows in enumerate((1500, 1700, 3000)):
        output = Output(tmp_path, resume=number > 0)
        stream_to_files(Corners(), known(), [store(path, x[:rows])], output=output, **common)
    assert rows_of(tmp_path) == [(0, 750), (750, 1500), (1500, 2000), (2000, 3000)]


@pytest.mark.parametrize("start", [0, 1, 499, 750, 1500, 1733, 2599, 2600, 5000])
@pytest.mark.parametrize("total", [1500, 2600, 4501])
def test_new_rows_are_cut_once_and_hardly_any_wait(total: int, start: int) -> None:
    samples = TensorSamples(torch.zeros(total, 1), torch.zeros(total))
    found = [(first, first + len(batch)) for first, batch in cut(samples, 1000, start=start)]
    assert [row for first, last in found for row in range(first, last)] in (
        list(range(start, total)),
        [],  # too few: they wait
    )
    assert found or total - start < 500
    assert all(last - first >= 500 for first, last in found)


def test_an_infinite_wealth_of_an_earlier_version_is_read_and_mended(tmp_path: Path) -> None:
    source = [store(tmp_path / "x.npz", classes(100, seed=1)[0])]
    stream_to_files(Corners(), known(), source, output=Output(tmp_path), settings=FAST, watching=WATCH)
    log = tmp_path / "stream.jsonl"
    log.write_text(json.dumps({**json.loads(log.read_text()), "wealth": float("inf")}) + "\n")
    again = Output(tmp_path, resume=True)
    last = stream_to_files(Corners(), known(), source, output=again, settings=FAST, watching=WATCH)
    assert last is not None
    assert np.isfinite(last.wealth)


def test_a_misspelt_estimator_of_a_stream_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source = [store(tmp_path / "x.npz", classes(50, seed=1)[0])]
    with pytest.raises(InputError, match="did you mean 'joint'"):
        stream_to_files(
            Corners(), known(), source, output=Output(tmp_path / "o"), watching=WATCH,
            settings=replace(FAST, estimator="jiont"),
        )  # fmt: skip
    assert not (tmp_path / "o").exists()


def test_damaged_files_are_sentences(tmp_path: Path) -> None:
    source = [store(tmp_path / "x.npz", classes(100, seed=1)[0])]
    folder = tmp_path / "o"
    stream_to_files(Corners(), known(), source, output=Output(folder), settings=FAST, watching=WATCH)
    (log,), (stored,) = folder.glob("*.jsonl"), folder.glob("reference*.npz")
    assert len(read_folder(folder)[1][0].lines) == 1
    whole = stored.read_bytes()
    for broken in (b"PK no archive", whole[:-30], whole[: len(whole) // 2]):
        stored.write_bytes(broken)
        with pytest.raises(InputError, match="is damaged"):
            prepared_reference(Corners(), known(), FAST, folder)
    stored.write_bytes(whole)
    log.write_text("{broken\n")
    with pytest.raises(InputError, match="line 1 is not valid JSON"):
        read_folder(folder)
    again = Output(folder, resume=True)
    with pytest.raises(InputError, match="line 1 is not valid JSON"):
        stream_to_files(Corners(), known(), source, output=again, settings=FAST, watching=WATCH)
    log.unlink()
    with pytest.raises(InputError, match="is missing"):
        read_folder(folder)


def test_damaged_pictures_of_a_check_are_a_sentence(tmp_path: Path) -> None:
    new = load_unlabelled(store(tmp_path / "x.npz", classes(80, seed=1)[0]), shape=(4,))
    check_to_files(Corners(), known(), new, output=Output(tmp_path / "o", "d"), settings=FAST)
    (tmp_path / "o" / "d.npz").write_bytes(b"PK\x03\x04 half of an archive")
    with pytest.raises(InputError, match=r"d\.npz' is damaged"):
        read_folder(tmp_path / "o")


def test_a_loss_that_cannot_be_tolerated_is_a_sentence(tmp_path: Path) -> None:
    source = [store(tmp_path / "x.npz", classes(50, seed=1)[0])]
    with pytest.raises(InputError, match="smaller --alarm"):
        stream_to_files(
            Corners(), known(), source, output=Output(tmp_path / "o"), settings=FAST,
            watching=StreamSettings(alarm=99.9),
        )  # fmt: skip
    with pytest.raises(InputError, match="does not exist"):
        stream_sources(tmp_path / "nowhere")
