"""The file of docs/choose-a-method.md trains as the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from wassermix.engine import train
from wassermix.engine.settings import Config, build_config
from wassermix.methods import CATRS
from wassermix.recipes import read_recipe

PAGE = Path(__file__).parents[2] / "docs" / "choose-a-method.md"


@pytest.fixture
def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def _phases(text: str, folder: Path, **overrides: Any) -> Config:
    """The page's one YAML block, read from a file as the command would."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    (folder / "noise-first.yaml").write_text(block)
    return build_config(read_recipe(folder / "noise-first.yaml"), overrides)


def test_the_phases_of_the_page_share_out_the_passes_as_it_says(text: str, tmp_path: Path) -> None:
    small = {"data": "gaussians", "data.dim": 4, "data.train_size": 400, "model": "mlp", "batch_size": 20}
    state = train(_phases(text, tmp_path, **small, budget="passes:8000"), tmp_path / "run")
    assert state.images == 2400 + 5600 / 4  # 0.3 of the passes at 1 for each sample, the others at 4
    told = re.search(r"here ([\d,]+) for plain noise, ([\d,]+) for the adversary", text)
    assert told is not None
    whole = float(str(_phases(text, tmp_path).budget).removeprefix("passes:"))
    assert [float(one.replace(",", "")) for one in told.groups()] == [0.3 * whole, 0.7 * whole]


def test_the_page_says_what_each_teacher_of_catrs_costs(text: str) -> None:
    own, average, run = CATRS(), CATRS(teacher="average"), CATRS(teacher="runs/gaussian")
    assert run.counting is not None
    for method in (own, average):
        assert f"{method.passes - run.passes:.1f} of {method.passes:.1f} |" in text
    assert f"{60_000 * run.counting.passes / 1e6:.1f} million passes for the 60,000 digits" in text
    assert f"fresh noises ({average.asked})" in text
    assert f"`method.draws` noises ({run.asked})" in text
