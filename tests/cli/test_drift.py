"""``wassermix drift`` as a user calls it: a table, a shifted copy of it, a stream, labels, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.words import run

COLUMNS = ("age", "size", "dose")


def table(path: Path, count: int, *, seed: int, shift: float = 0.0, labelled: bool = True) -> Path:
    """Three Gaussian classes in three columns of very different units."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 3
    x = (4 * np.eye(3)[y] + rng.normal(size=(count, 3)) + [shift, 0, 0]) * [1, 100, 0.01]
    lines = [",".join([*COLUMNS, *(["label"] if labelled else [])])]
    lines += [",".join([*map(str, row), *([str(c)] if labelled else [])]) for row, c in zip(x, y)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drift")
    data = table(folder / "train.csv", 900, seed=0)
    words = (f"data={data}", "data.test_share=0.5", "model=mlp", "method=erm", "epochs=12")
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "vectors", *words, "--out", folder / "run") == 0
    return folder / "run"


FAST = ("--permutations", 39, "--resamples", 20, "--points", 5)


def test_a_shifted_table_is_estimated_and_its_column_named(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = table(tmp_path / "new.csv", 300, seed=1, shift=4.0)
    assert run(monkeypatch, "drift", trained, "--data", new, "--score", "--ask", 50, *FAST) == 0
    found = json.loads((trained / "drift" / "new.json").read_text())
    assert found["truth"] < found["reference_accuracy"] - 0.1
    assert found["estimate"]["estimate"] == pytest.approx(found["truth"], abs=0.08)
    assert found["moved"]["columns"][0]["name"] == "age"
    said = capsys.readouterr().out
    assert "moved: age by" in said
    assert "drift: input p =" in said
    assert run(monkeypatch, "drift", trained, "--data", new, "--score", "--ask", 50, *FAST) == 2


def test_questions_come_back_as_labels(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = table(tmp_path / "asked.csv", 300, seed=2, labelled=False)
    assert run(monkeypatch, "drift", trained, "--data", new, "--ask", 60, *FAST) == 0
    assert "--labelled FILE --name NAME" in " ".join(capsys.readouterr().out.split())
    header, *rows = (trained / "drift" / "asked.ask.csv").read_text().splitlines()
    filled = [f"{row.split(',')[0]},{int(row.split(',')[0]) % 3},{row.split(',')[2]}" for row in rows]
    (tmp_path / "filled.csv").write_text("\n".join([header, *filled]) + "\n")
    words = ("--data", new, "--labelled", tmp_path / "filled.csv", "--name", "sure", *FAST)
    assert run(monkeypatch, "drift", trained, *words) == 0
    powered = json.loads((trained / "drift" / "sure.json").read_text())["powered"]
    assert powered["labels"] == 60
    assert powered["interval"]["low"] > 0.8


def test_a_stream_that_goes_bad_ends_with_exit_code_3(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stream"
    folder.mkdir()
    for number in range(5):
        table(folder / f"{number}.csv", 200, seed=10 + number, shift=5.0 * (number > 0), labelled=False)
    words = ("--stream", folder, "--every", 100, "--resamples", 10)
    assert run(monkeypatch, "drift", trained, *words) == 3
    lines = [json.loads(line) for line in (trained / "drift" / "stream.jsonl").read_text().splitlines()]
    assert [line["alarm"] for line in lines][:2] == [False, False]
    assert len(lines) == 10
    assert run(monkeypatch, "drift", trained, *words, "--resume") == 3


def test_a_labelled_file_of_the_users_own_is_the_reference(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference, new = table(tmp_path / "ref.csv", 300, seed=3), table(tmp_path / "n.csv", 150, seed=4)
    words = ("--data", new, "--reference", reference, "--name", "own", "--score", *FAST)
    assert run(monkeypatch, "drift", trained, *words) == 0
    found = json.loads((trained / "drift" / "own.json").read_text())
    assert found["reference_count"] == 300
    assert found["reference_accuracy"] > 0.9  # on the run's own scale, not on the file's


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "needs --data"),
        (("--data", "nowhere.csv"), "do not exist"),
        (("--data", "gaussians"), "shape"),
        (("--data", "NEW", "--estimator", "jiont"), "did you mean 'joint'"),
        (("--data", "NEW", "--ask", "9999"), "expected 1 to"),
        (("--stream", "nowhere"), "does not exist"),
    ],
)
def test_mistakes_are_sentences(
    words: tuple[str, ...], sentence: str, trained: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    new = str(table(tmp_path / "new.csv", 60, seed=1))
    given = [new if word == "NEW" else word for word in words]
    assert run(monkeypatch, "drift", trained, *given, "--name", "off") == 2
    assert sentence in capsys.readouterr().err


def test_the_page_shows_checks_and_streams(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = table(tmp_path / "shown.csv", 150, seed=1, shift=4.0)
    assert run(monkeypatch, "drift", trained, "--data", new, *FAST) == 0
    assert run(monkeypatch, "drift", trained, "--stream", new, "--name", "flow", "--every", 75) in (0, 3)
    assert run(monkeypatch, "report", trained, "--out", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert "Data without labels" in page
    assert "What moved, the furthest first" in page
    assert "flow, 2 batches" in page
