"""Idle threads sleep soon where the command line runs, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from wassermix.core.openmp import SPINS, let_idle_threads_sleep

PROGRAM = """
import os, sys
import wassermix.cli.app as app
assert "torch" not in sys.modules  # which reads the environment when it is loaded
sys.argv = ["wassermix", "--version"]
try:
    app.main()
finally:
    print(os.environ["GOMP_SPINCOUNT"])
"""


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPINS, "7")
    let_idle_threads_sleep()
    assert os.environ[SPINS] == "7"


def test_the_command_line_says_so_before_torch_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPINS, raising=False)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.split()[-1].isdecimal()
