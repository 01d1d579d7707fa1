"""The recommended recipe on any data, as long as the time allows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wassermix.cli.best import best_recipe, fit_to_minutes
from wassermix.cli.train import run_train
from wassermix.core.errors import InputError
from wassermix.data import load_data
from wassermix.engine import RunDir
from wassermix.engine.settings import build_config


def _images(path: Path, shape: tuple[int, ...], *, count: int = 24) -> Path:
    rng = np.random.default_rng(0)
    arrays = {}
    for split in ("train", "test"):
        arrays[f"x_{split}"] = rng.integers(0, 256, (count, *shape)).astype(np.uint8)
        arrays[f"y_{split}"] = np.arange(count) % 3
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    ("shape", "model", "crop"),
    [((1, 28, 28), "lenet", 0), ((3, 32, 32), "resnet20", 4), ((1, 8, 8), "mlp", 0)],
)
def test_the_architecture_suits_the_samples(
    tmp_path: Path, shape: tuple[int, ...], model: str, crop: int
) -> None:
    data = load_data(str(_images(tmp_path / "own.npz", shape)))
    config = build_config(best_recipe(data), {"data": str(tmp_path / "own.npz")})
    assert (config.model["name"], config.transform.crop) == (model, crop)


def test_minutes_make_a_run_of_about_their_length_with_the_noise_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wassermix.cli.best.MEASURED", 0.1)
    data, out = str(_images(tmp_path / "own.npz", (1, 8, 8))), tmp_path / "run"
    run_train(data, [], out=out, resume=False, overwrite=False, minutes=0.005, sigma=0.25)
    config = RunDir(out).config()
    assert config.sigma == 0.25
    assert config.budget is not None
    budget = int(config.budget.removeprefix("passes:"))
    last = RunDir(out).metrics_file.read_text().splitlines()[-1]
    assert f'"passes": {budget}' in last or RunDir(out).trained_share() == 1
    run_train(data, [], out=out, resume=True, overwrite=False, minutes=0.005)  # measures nothing anew
    assert RunDir(out).config() == config


def test_no_time_is_refused(tmp_path: Path) -> None:
    config = build_config(best_recipe(load_data(str(_images(tmp_path / "own.npz", (1, 8, 8))))))
    with pytest.raises(InputError, match="--minutes is 0"):
        fit_to_minutes(config, 0.0, samples=10)
