"""Files are never half written, and append-only ones are cut back to whole lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from wassermix.core.errors import InputError
from wassermix.core.files import append_line, cut_back, read_json, write_beside, write_json


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"old": 1})

    def fail(beside: Path) -> None:
        beside.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_beside(target, fail)
    assert read_json(target) == {"old": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_an_unwritable_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .* choose an output folder"):
        write_json(tmp_path / "file" / "a.json", {})


def test_a_full_disk_is_a_sentence() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with pytest.raises(InputError, match="No space left"):
        write_beside(Path("/dev/shm/wassermix-full.json"), lambda beside: full.write_text("x" * 10))


def test_half_a_line_is_cut_off_and_the_rest_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_line(log, "one")
    append_line(log, "two")
    with log.open("a") as file:
        file.write("thr")
    assert cut_back(log) == ["one", "two"]
    assert log.read_text() == "one\ntwo\n"


def test_lines_that_are_not_wanted_go(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    for line in ("1", "2", "3"):
        append_line(log, line)
    assert cut_back(log, keep=lambda line: int(line) < 3) == ["1", "2"]


def test_cutting_back_a_missing_file_gives_nothing(tmp_path: Path) -> None:
    assert cut_back(tmp_path / "none") == []


def test_a_writer_that_makes_private_files_does_not_make_ours_private(tmp_path: Path) -> None:
    def private(beside: Path) -> None:
        beside.write_text("x")
        beside.chmod(0o600)

    write_beside(tmp_path / "a", private)
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_folder_that_may_not_be_looked_into_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(self: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", forbidden)
    monkeypatch.setattr(Path, "unlink", forbidden)
    with pytest.raises(InputError, match=r"cannot write .*Permission denied; choose"):
        write_json(tmp_path / "a.json", {})


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path)  # a folder
