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
