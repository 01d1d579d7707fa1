"""Several processes share a command, and its result is that of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.words import lines, run
from wassermix.cli.launch import code_of
from wassermix.cli.processes import SPOKEN, complain, relaunched, split_processes
from wassermix.cli.target import as_one
from wassermix.core.errors import InputError


def test_the_number_of_processes_is_taken_out_of_the_words() -> None:
    assert split_processes(["--processes", "2", "train", "demo"]) == (["train", "demo"], 2)
    assert split_processes(["certify", "run", "--processes=3", "--n"]) == (["certify", "run", "--n"], 3)
    assert split_processes(["train", "demo"]) == (["train", "demo"], 1)


@pytest.mark.parametrize("words", [["--processes", "two"], ["--processes"], ["--processes=0", "train"]])
def test_a_number_that_is_none_is_refused(words: list[str]) -> None:
    with pytest.raises(InputError, match="whole number"):
        split_processes(words)


def test_commands_that_cannot_be_shared_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(InputError, match="'report' runs in one process"):
        relaunched(["report", "run"], 2)


def test_a_process_of_the_group_is_not_launched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert relaunched(["train", "demo"], 2) is None


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small run."""
    folder = tmp_path_factory.mktemp("processes")
    with pytest.MonkeyPatch.context() as patch:
        words = ("train", "vectors", "data=gaussians", "updates=5", "--out", folder / "run")
        assert run(patch, *words) == 0
    return folder


def wassermix(work: Path, *words: object) -> subprocess.Popen[str]:
    """The command in a process of its own, one thread for each."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "wassermix", *map(str, words)]
    return subprocess.Popen(
        command, cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def rows(work: Path, name: str) -> list[list[str]]:
    """The certificates, their times aside."""
    table = [line.split("\t") for line in (work / "run" / "certify" / f"{name}.tsv").read_text().splitlines()]
    seconds = table[0].index("time")
    return [[cell for i, cell in enumerate(row) if i != seconds] for row in table]


@pytest.mark.slow
def test_an_attack_by_two_processes_is_that_of_one(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = ("attack", "run", "--norm", "l2", "--eps", 0.3, "--images", 9, "--batch-size", 4, "--name")
    monkeypatch.chdir(work)
    assert run(monkeypatch, *attack, "one") == 0
    two = wassermix(work, "--processes", 2, *attack, "two")
    said = two.communicate()[1]
    assert two.returncode == 0, said
    one, other = (json.loads((work / "run" / "attack" / f"{n}.json").read_text()) for n in ("one", "two"))
    assert {**one, "seconds": 0} == {**other, "seconds": 0}


@pytest.mark.slow
def test_where_one_process_is_killed_the_other_stops_with_a_sentence_and_resume_finishes(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certify = (
        "certify",
        "run",
        "--n",
        3000,
        "--images",
        120,
        "--sigma",
        0.5,
        "--mode",
        "tolerance",
        "--name",
    )
    monkeypatch.chdir(work)
    files = work / "run" / "certify"
    both = wassermix(work, "--processes", 2, *certify, "killed")
    deadline = time.monotonic() + 300  # on a busy machine, importing torch alone may take a minute
    while min(lines(files / "killed.part0"), lines(files / "killed.part1")) < 3:
        assert both.poll() is None, both.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(json.loads((files / "killed.lock").read_text())["pid"], signal.SIGKILL)
    said = both.communicate()[1]
    assert both.returncode != 0
    assert "another process of this command has ended" in said
    assert "--name killed --resume` goes on where it stopped" in said
    assert not (files / "killed.json").exists()
    done = lines(files / "killed.part0") + lines(files / "killed.part1")
    assert 6 <= done < 120
    assert run(monkeypatch, *certify, "killed", "--resume") == 0
    assert run(monkeypatch, *certify, "straight") == 0
    assert rows(work, "killed") == rows(work, "straight")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("train", "vectors", "data=no-such-data"),
            "wassermix: data 'no-such-data' is unknown; expected one of",
        ),
        (("certify", "no-such-run"), "wassermix: run 'no-such-run' does not exist;"),
    ],
    ids=["train", "certify"],
)
def test_bad_input_is_one_sentence_and_exit_code_2_however_many_processes(
    work: Path, words: tuple[str, ...], said: str
) -> None:
    both = wassermix(work, "--processes", 2, *words)
    (sentence,) = both.communicate()[1].splitlines()
    assert sentence.startswith(said)
    assert both.returncode == 2


def test_of_several_processes_the_first_to_fail_speaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for file, times in ((tmp_path / "spoken", 1), (tmp_path / "no" / "folder", 2), (None, 2)):
        if file is None:
            monkeypatch.delenv(SPOKEN)
        else:
            monkeypatch.setenv(SPOKEN, str(file))
        complain("wassermix: no")
        complain("wassermix: no")
        assert capsys.readouterr().err == "wassermix: no\n" * times


@pytest.mark.parametrize(
    ("ended", "code", "told"),
    [(2, 2, ""), (1, 1, ""), (-signal.SIGKILL, 1, "(SIGKILL)"), (-signal.SIGINT, 1, "")],
)
def test_the_exit_code_of_a_process_is_handed_on_and_a_signal_named(
    ended: int, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(ended) == code
    said = capsys.readouterr().err
    assert told in said
    assert bool(said) == bool(told)


def test_an_ensemble_is_saved_by_the_first_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wassermix.core.processes.rank", lambda: 1)
    assert as_one([tmp_path / "a", tmp_path / "b"]) == tmp_path / "ensemble-a+b"
    assert not list(tmp_path.iterdir())
