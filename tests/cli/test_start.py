"""Starting costs nothing: help, completion and a misspelt word answer without importing torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
    assert "the same command goes on" in how_to_go_on(["reproduce", "table-1"])
    assert "--resume" not in how_to_go_on(["report", "runs/a"])
