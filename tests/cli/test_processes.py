"""Several processes share a command, and its result is that of one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wassermix.cli.processes import relaunched, split_processes
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


@pytest.mark.slow
def test_two_processes_give_the_certificates_of_one(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def wassermix(*words: str) -> None:
        command = [sys.executable, "-m", "wassermix", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def rows(name: str) -> list[list[str]]:
        lines = (tmp_path / "run" / "certify" / f"{name}.tsv").read_text().splitlines()
        seconds = lines[0].split("\t").index("time")
        return [[cell for i, cell in enumerate(line.split("\t")) if i != seconds] for line in lines]

    wassermix("train", "vectors", "data=gaussians", "updates=5", "--out", "run")
    certify = ("certify", "run", "--n", "300", "--images", "9", "--sigma", "0.5", "--name")
    wassermix(*certify, "one")
    wassermix("--processes", "2", *certify, "two")
    assert rows("one") == rows("two")
