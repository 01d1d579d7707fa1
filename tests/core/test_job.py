"""One job for every evaluation: what exists is refused, resumed or replaced; two never write one output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wassermix.core.errors import InputError
from wassermix.core.job import Job, remove_leftovers


def job(folder: Path, **parameters: object) -> Job:
    return Job(folder, "out", parameters or {"n": 1}, files=(".json", ".svg"))


def fill(one: Job, *, until: int = 3) -> None:
    for number in range(len(one.own_lines()), until):
        one.append(f"line {number}")


def close(one: Job) -> None:
    text = "\n".join(one.lines())
    one.finish(
        {
            ".json": lambda path: path.write_text(json.dumps({**one.parameters, "text": text})),
            ".svg": lambda path: path.write_text("<svg/>"),
        }
    )


def test_a_finished_output_is_refused_kept_or_replaced(tmp_path: Path) -> None:
    one = job(tmp_path)
    with one.begin():
        fill(one)
        close(one)
    with pytest.raises(InputError, match="--resume"), one.begin():
        pass
    with one.begin(resume=True):
        assert one.finished
    with one.begin(overwrite=True):
        assert not one.finished
        assert one.lines() == []


def test_only_result_files_stay_when_all_is_done(tmp_path: Path) -> None:
    one = job(tmp_path)
    with one.begin():
        fill(one)
        close(one)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.svg"]


def test_a_job_that_was_cut_off_goes_on_after_its_last_whole_line(tmp_path: Path) -> None:
    one = job(tmp_path)
    with one.begin():
        fill(one, until=2)
    with (tmp_path / "out.log").open("a") as file:
        file.write("line 2, cut o")
    with one.begin(resume=True):
        fill(one)
        assert one.lines() == ["line 0", "line 1", "line 2"]


def test_an_output_killed_between_two_result_files_is_not_finished(tmp_path: Path) -> None:
    one = job(tmp_path)

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with one.begin():
        fill(one)
        with pytest.raises(KeyboardInterrupt):
            one.finish({".json": lambda path: path.write_text("{}"), ".svg": killed})
    with one.begin(resume=True):
        assert not one.finished
        assert len(one.lines()) == 3


def test_other_parameters_are_refused_by_name(tmp_path: Path) -> None:
    with job(tmp_path, n=1, sigma=0.5).begin():
        pass
    with (
        pytest.raises(InputError, match=r"sigma 0\.5, now it is 1\.0"),
        job(tmp_path, n=1, sigma=1.0).begin(resume=True),
    ):
        pass


def test_resume_and_overwrite_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one of them"), job(tmp_path).begin(resume=True, overwrite=True):
        pass


def test_a_second_process_on_the_same_output_is_refused_with_the_first_ones_name(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from wassermix.core.job import Job\n"
        "with Job(Path(sys.argv[1]), 'out', {'n': 1}).begin(resume=True): pass"
    )
    with job(tmp_path).begin():
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"process {os.getpid()}" in done.stderr


def test_the_lock_of_a_killed_process_is_stale(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from wassermix.core.job import Job\n"
        "with Job(Path(sys.argv[1]), 'out', {'n': 1}).begin(): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / "out.lock").exists()
    with job(tmp_path).begin(resume=True):
        assert not job(tmp_path).finished


def test_a_lock_of_another_process_with_the_same_number_is_stale(tmp_path: Path) -> None:
    with job(tmp_path).begin():
        owner = json.loads((tmp_path / "out.lock").read_text())
    stale = {**owner, "token": f"{os.getpid()}-1"}
    (tmp_path / "out.lock").write_text(json.dumps(stale))
    with job(tmp_path).begin(resume=True):
        pass


def test_a_requeued_job_takes_over_its_own_lock_from_another_machine_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    with job(tmp_path).begin():
        owner = json.loads((tmp_path / "out.lock").read_text())
    (tmp_path / "out.lock").write_text(json.dumps({**owner, "host": "elsewhere"}))
    with pytest.raises(InputError, match="on elsewhere"), job(tmp_path).begin(resume=True):
        pass
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with job(tmp_path).begin(resume=True):
        pass
    (tmp_path / "out.lock").write_text(json.dumps({**owner, "host": "elsewhere", "job": ["18", "0"]}))
    with pytest.raises(InputError, match="on elsewhere"), job(tmp_path).begin(resume=True):
        pass


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", ".."])
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="plain word"):
        Job(tmp_path, name, {})


def test_temporary_files_of_dead_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for pid in (dead.pid, os.getpid()):
        (tmp_path / f".out.json.{pid}.part").touch()
    remove_leftovers(tmp_path, "out")
    assert [path.name for path in tmp_path.iterdir()] == [f".out.json.{os.getpid()}.part"]


def test_a_result_whose_name_ends_like_a_log_of_a_process_stays(tmp_path: Path) -> None:
    other = Job(tmp_path, "out.part1", {"n": 1})
    with other.begin():
        other.finish({".json": lambda path: path.write_text('{"n": 1}')})
    (tmp_path / "out.part0").write_text("line 0\n")
    with job(tmp_path).begin(overwrite=True):
        pass
    assert (tmp_path / "out.part1.json").exists()
    assert not (tmp_path / "out.part0").exists()


def test_leftovers_of_another_name_that_begins_alike_stay(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = tmp_path / f".outer.json.{dead.pid}.part"
    kept.touch()
    remove_leftovers(tmp_path, "out")
    assert kept.exists()
    remove_leftovers(tmp_path)
    assert not kept.exists()


@pytest.mark.parametrize("text", ["[]", "3", '"n"'])
@pytest.mark.parametrize("suffix", [".running", ".json"])
def test_a_file_without_parameters_cannot_be_resumed(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / f"out{suffix}").write_text(text)
    with pytest.raises(InputError, match="holds no parameters"), job(tmp_path).begin(resume=True):
        pass
