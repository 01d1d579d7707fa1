"""Studies: named functions whose record is written where `reproduce` says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.words import run
from wassermix.core.errors import InputError
from wassermix.core.registry import import_object
from wassermix.experiments import STUDIES, draw_study, run_study, study_names, table_names
from wassermix.experiments.studies import Study


def _tiny(out: Path, tell: object) -> dict[str, object]:
    """A study of this test: it says where it was allowed to work."""
    return {"summary": ["two and two is four"], "out": str(out), "sum": 2 + 2}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(STUDIES, "tiny", Study("A sum", "json:dumps"))
    monkeypatch.setattr("wassermix.experiments.studies.import_object", lambda name, what: _tiny)
    return "tiny"


def _dots(record: dict[str, object], path: Path) -> None:
    """The picture of that study."""
    path.write_text("." * int(str(record["sum"])))


def test_every_study_can_be_imported_and_shares_no_name_with_a_table() -> None:
    for study in STUDIES.values():
        assert callable(import_object(study.function, what="study"))
        assert study.figure is None or callable(import_object(study.figure, what="figure"))
    assert not set(study_names()) & set(table_names())


def test_a_record_says_what_was_found_by_which_study_and_version(tiny: str, tmp_path: Path) -> None:
    record = run_study(tiny, tmp_path)
    assert (record["study"], record["title"], record["sum"]) == ("tiny", "A sum", 4)
    assert record["version"]
    assert record["seconds"] >= 0


def test_reproduce_writes_the_record_and_prints_its_sentences(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("reproduce", tiny, "--out", tmp_path / "runs", "--results", tmp_path / "results")
    assert run(monkeypatch, *words) == 0
    assert "two and two is four" in capsys.readouterr().out
    record = json.loads((tmp_path / "results" / "tiny.json").read_text())
    assert record["out"] == str(tmp_path / "runs" / "tiny")


def test_reproduce_draws_the_picture_of_a_study_that_has_one_beside_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"its study": _tiny, "its figure": _dots}
    monkeypatch.setitem(STUDIES, "tiny", Study("A sum", "its study", figure="its figure"))
    monkeypatch.setattr("wassermix.experiments.studies.import_object", lambda name, what: parts[name])
    words = ("reproduce", "tiny", "--out", tmp_path / "runs", "--results", tmp_path / "results")
    assert run(monkeypatch, *words) == 0
    assert "tiny.svg" in "".join(capsys.readouterr().out.split())
    assert (tmp_path / "results" / "tiny.svg").read_text() == "...."


def test_a_study_without_a_figure_draws_none(tiny: str, tmp_path: Path) -> None:
    assert not draw_study(run_study(tiny, tmp_path), tmp_path / "tiny.svg")
    assert list(tmp_path.iterdir()) == []


def test_the_theory_has_a_picture() -> None:
    assert STUDIES["theory"].figure is not None


def test_the_list_of_tables_names_the_studies_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "reproduce") == 0
    shown = capsys.readouterr().out
    assert all(f"{name} (study): {study.title}" in shown for name, study in STUDIES.items())


def test_rows_seeds_and_scales_are_refused_for_a_study(
    tiny: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("--rows", "one"), ("--seed", "1"), ("--scale", "paper")):
        assert run(monkeypatch, "reproduce", tiny, *words) == 2
        assert "without rows, seeds or scales" in " ".join(capsys.readouterr().err.split())


def test_an_unknown_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="study 'nothing' is unknown"):
        run_study("nothing", tmp_path)
