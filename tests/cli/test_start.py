"""Starting costs nothing: help, completion and a misspelt word answer without importing torch."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.words import begun
from wassermix.cli.stopped import how_to_go_on

LOOK = """
import sys
from wassermix.cli import app
sys.argv = ["wassermix", *sys.argv[1:]]
try:
    app.main()
except SystemExit:
    pass
print("torch" in sys.modules, "scipy" in sys.modules)
"""


def imported(*words: str) -> str:
    done = subprocess.run([sys.executable, "-c", LOOK, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "words", [("--help",), ("certify", "-h"), ("attack", "-h"), ("audit", "-h"), ("tarin",), ("--version",)]
)
def test_words_are_answered_without_torch(words: tuple[str, ...]) -> None:
    assert imported(*words) == "False False"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, wassermix; print([m for m in ('torch', 'numpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_folder_certify_can_be_called_like_its_function() -> None:
    code = (
        "import torch, wassermix.certify.bounds, wassermix as wm\n"
        "net = lambda x: torch.stack([x.sum(1), -x.sum(1)], 1)\n"
        "print(int(wm.certify(net, torch.full((1, 2), 9.0), sigma=0.5, n=100).predicted[0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_ctrl_c_names_the_command_that_goes_on() -> None:
    assert "`wassermix certify runs/a --n 100 --resume`" in how_to_go_on(["certify", "runs/a", "--n", "100"])
    assert "`wassermix reproduce table-1` goes on" in how_to_go_on(["reproduce", "table-1"])
    assert "`wassermix demo` goes on" in how_to_go_on(["demo", "--overwrite"])
    again = how_to_go_on(["attack", "runs/a", "--steps", "5", "--images", "5", "--resume"])
    assert "`wassermix attack runs/a --steps 5 --images 5 --resume`" in again
    several = how_to_go_on(["--processes", "2", "train", "demo"])
    assert "`wassermix --processes 2 train demo --resume`" in several
    assert "--resume" not in how_to_go_on(["report", "runs/a"])


def test_ctrl_c_ends_a_training_with_that_sentence_alone(tmp_path: Path) -> None:
    words = ("train", "vectors", "data=gaussians", "epochs=100000", "--out", tmp_path / "run")
    with begun(*words) as process:
        process.when((tmp_path / "run" / "metrics.jsonl").exists)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    last = said.splitlines()[-1]
    assert last.startswith("wassermix: interrupted; `wassermix train vectors data=gaussians")
    assert last.endswith("--resume` goes on where it stopped")
    assert "Traceback" not in said


def on_a_terminal(*words: str, **environment: str) -> str:
    """What ``wassermix WORDS`` shows on a terminal."""
    ours, theirs = pty.openpty()
    plain = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM")
    }
    done = subprocess.run(
        [sys.executable, "-m", "wassermix", *words],
        stdout=theirs,
        stderr=theirs,
        env={**plain, **environment},
    )
    os.close(theirs)
    assert done.returncode == 0
    return os.read(ours, 1 << 20).decode()


def test_colours_are_off_where_they_are_not_wanted_or_cannot_be_shown() -> None:
    colour = re.compile(r"\x1b\[[\d;]*?(?<![\d])(3[0-8]|4[0-8]|9[0-7])[;m]")
    assert colour.search(on_a_terminal("recipes", "-h", TERM="xterm-256color"))
    assert not colour.search(on_a_terminal("recipes", "-h", TERM="xterm-256color", NO_COLOR="1"))
    assert "\x1b" not in on_a_terminal("recipes", "-h", TERM="dumb")
