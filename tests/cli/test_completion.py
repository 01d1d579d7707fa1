"""The shell completes names, and torch is not imported for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from wassermix.cli.app import app
from wassermix.cli.completion import COMMON_KEYS, PARTS
from wassermix.data.registry import DATA
from wassermix.engine.settings import build_config
from wassermix.methods.registry import METHODS
from wassermix.recipes import load_recipe, recipe_names

LOOK = """
import atexit, sys
from wassermix.cli import app
atexit.register(lambda: print("heavy:", "torch" in sys.modules or "scipy" in sys.modules))
sys.argv = ["wassermix"]
app.main()
"""


def completed(*words: str, shell: str = "fish") -> list[str]:
    """What a shell would offer for the last of the words; the imports are looked at on the way."""
    told = {"_WASSERMIX_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    told |= {"_TYPER_COMPLETE_ARGS": " ".join(words), "COMP_WORDS": " ".join(words)}
    told |= {"COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK], capture_output=True, text=True, env={**os.environ, **told}
    )
    *offered, heavy = done.stdout.splitlines()
    assert heavy == "heavy: False", done.stderr
    return [line.split("\t")[0] for line in offered]


def test_recipes_and_tables_are_completed() -> None:
    assert completed("wassermix", "train", "mnist/sm") == [
        n for n in recipe_names() if n.startswith("mnist/sm")
    ]
    assert completed("wassermix", "recipes", "bes") == ["best"]
    assert "table-1" in completed("wassermix", "reproduce", "table")


def test_names_behind_a_key_are_completed() -> None:
    methods = [name for name in METHODS.names() if name.startswith("s")]
    assert completed("wassermix", "train", "demo", "method=s") == [f"method={name}" for name in methods]
    assert completed("wassermix", "train", "demo", "epochs=3", "opt") == ["optimizer.lr="]
    assert completed("wassermix", "train", "demo", "model=len") == ["model=lenet"]


def test_bash_which_ends_a_word_at_the_equals_sign_is_served_too() -> None:
    offered = completed("wassermix", "train", "demo", "method", "=", "gau", shell="bash")
    assert offered == ["gaussian"]


def test_attacks_modes_and_data_are_completed() -> None:
    assert completed("wassermix", "attack", "run", "--attack", "p") == ["pgd"]
    assert completed("wassermix", "certify", "run", "--mode", "") == ["fixed", "grid", "tolerance"]
    assert completed("wassermix", "attack", "run", "--norm", "") == ["linf", "l2"]
    expected = [name for name in DATA.names() if name.startswith("mnist")]
    assert completed("wassermix", "geometry", "mnist") == expected
    assert completed("wassermix", "drift", "run", "--data", "mnist") == expected


def test_help_of_train_names_every_whole_recipe_and_keys_that_exist() -> None:
    (train,) = (c.callback for c in app.registered_commands if c.callback and c.callback.__name__ == "train")
    recipe, overrides = (train.__signature__.parameters[n].annotation for n in ("recipe", "overrides"))  # type: ignore[union-attr]
    named = recipe.__metadata__[0].help
    assert [name for name in recipe_names() if "/" not in name and name not in named] == []
    helped = overrides.__metadata__[0].help
    assert [key for key in (*PARTS, *COMMON_KEYS) if f"{key}=" not in helped] == []
    for key, value in re.findall(r"(\w[\w.]*)=([\d.]+)", helped):
        build_config(load_recipe("demo"), {"augment": "geodesic", key: float(value)})
