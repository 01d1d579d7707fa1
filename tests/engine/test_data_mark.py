"""A run notices that its data are not those it was trained on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wassermix as wm
from wassermix.core.errors import InputError
from wassermix.engine import RunDir, train
from wassermix.engine.ensemble import gather
from wassermix.engine.settings import Config, build_config
from wassermix.engine.target import run_target


def write(file: Path, *, rows: int = 60, scale: float = 1.0, swap: bool = False) -> Path:
    """Twenty test samples, and ``rows`` less those to train on."""
    rng = np.random.default_rng(0)
    x = scale * rng.normal(size=(rows, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    np.savez(file, x_train=x[20:], y_train=1 - y[20:] if swap else y[20:], x_test=x[:20], y_test=y[:20])
    return file


def config(file: Path, **changes: Any) -> Config:
    small = {"model": {"name": "mlp", "hidden": [4]}, "method": {"name": "gaussian", "sigma": 0.5}}
    data = {"name": str(file), "standardize": False}
    return build_config({"data": data, **small, "updates": 3, "batch_size": 20, **changes})


@pytest.fixture
def trained(tmp_path: Path) -> tuple[Path, Path]:
    """The data's file, and a run that was trained on it."""
    file = write(tmp_path / "mine.npz")
    train(config(file), tmp_path / "run")
    return file, tmp_path / "run"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": 65}, "40 train samples then, 45 now"),
        ({"swap": True}, "other labels of the train samples"),
        ({"scale": 10.0}, "other train samples or units; other test samples or units"),
    ],
)
def test_changed_data_are_refused_by_every_way_to_a_run(
    changes: dict[str, Any], said: str, trained: tuple[Path, Path]
) -> None:
    file, run = trained
    copy = shutil.copytree(run, run.parent / "copy")
    write(file, **changes)
    ways = (
        lambda: run_target(run),
        lambda: wm.load_run(run).data,
        lambda: gather([run, copy]),
        lambda: train(config(file), run, resume=True),
    )
    for way in ways:
        with pytest.raises(InputError, match=f"have changed since it was trained .*{said}"):
            way()


def test_the_same_samples_in_another_place_are_the_same_data(trained: tuple[Path, Path]) -> None:
    file, run = trained
    moved = file.rename(file.parent / "moved.npz")
    assert len(run_target(run, data_name=str(moved)).split) == 20


def test_a_run_without_a_mark_is_believed_and_gets_none_afterwards(trained: tuple[Path, Path]) -> None:
    file, run = trained
    RunDir(run).data_file.unlink()
    train(config(file), run, resume=True)
    assert not RunDir(run).data_file.exists()
    assert len(run_target(run).split) == 20


def test_a_run_that_never_learnt_anything_stands_in_nobodys_way(tmp_path: Path) -> None:
    """A training that its data end before the first checkpoint leaves a config only."""
    file, run = write(tmp_path / "mine.npz"), RunDir(tmp_path / "run")
    run.path.mkdir()
    run.begin(config(file, updates=7))
    train(config(file), run.path)
    assert run.config().updates == 3
    with pytest.raises(InputError, match="holds a run already"):
        train(config(file), run.path)
