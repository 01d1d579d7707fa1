"""Running the command line in a test: in this process, or in one that can be killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wassermix.cli import app as cli


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Run ``wassermix WORDS`` here and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["wassermix", *map(str, words)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def kill_when(happened: Callable[[], bool], *words: object, delay: float = 0.0) -> None:
    """Run ``wassermix WORDS`` in a process of its own and kill it, without a word, once ``happened()``."""
    with begun(*words) as process:
        process.when(happened)
        time.sleep(delay)


class Begun(subprocess.Popen[str]):
    """A ``wassermix WORDS`` that runs in a process of its own."""

    def when(self, happened: Callable[[], bool]) -> None:
        """Wait until ``happened()``."""
        deadline = time.monotonic() + 300  # on a busy machine, importing torch alone may take a minute
        while not happened():
            assert self.poll() is None, "the command ended before its moment"
            assert time.monotonic() < deadline, "its moment never came"
            time.sleep(0.005)


@contextmanager
def begun(*words: object) -> Iterator[Begun]:
    """Run ``wassermix WORDS`` beside the test; what still runs at the end of the block is killed."""
    command = [sys.executable, "-m", "wassermix", *map(str, words)]
    process = Begun(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed_ctrl_c
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _heed_ctrl_c() -> None:
    """Tests that run in the background of a shell are born deaf to Ctrl-C, and so would their children be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def lines(path: Path) -> int:
    """How many whole lines a file has by now."""
    return path.read_text().count("\n") if path.exists() else 0
