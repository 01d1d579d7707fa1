"""Words become the config that they mean: which recipe, on which data, with which architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wassermix as wm
from wassermix.core.errors import InputError
from wassermix.engine.plan import fit_to_minutes, plan_config
from wassermix.engine.settings import build_config
from wassermix.recipes import load_recipe


def images(path: Path, *shape: int) -> str:
    """A file of random images of three classes."""
    rng, arrays = np.random.default_rng(0), {}
    for split in ("train", "test"):
        arrays[f"x_{split}"] = rng.integers(0, 256, (24, *shape)).astype(np.uint8)
        arrays[f"y_{split}"] = np.arange(24) % 3
    np.savez(path, **arrays)
    return str(path)


@pytest.fixture
def colour(tmp_path: Path) -> str:
    return images(tmp_path / "colour.npz", 3, 32, 32)


@pytest.mark.parametrize(
    ("shape", "model", "crop"),
    [((1, 28, 28), "lenet", 0), ((3, 32, 32), "resnet20", 4), ((1, 8, 8), "mlp", 0)],
)
def test_the_recommended_architecture_suits_the_samples(
    tmp_path: Path, shape: tuple[int, ...], model: str, crop: int
) -> None:
    config = plan_config("best", {"data": images(tmp_path / "own.npz", *shape)})
    assert (config.model["name"], config.transform.crop) == (model, crop)


def test_a_table_of_rows_gets_a_perceptron_and_a_model_that_is_named_is_kept(colour: str) -> None:
    assert plan_config("best", {"data": "gaussians", "data.dim": 7}).model["name"] == "mlp"
    assert plan_config("best", {"data": colour, "model": "lenet"}).model["name"] == "lenet"
    assert plan_config("best", {"data": colour, "transform.flip": False}).transform.flip is False


def test_other_recipes_keep_their_architecture(colour: str) -> None:
    assert plan_config("demo", {"data": colour}).model["name"] == "lenet"


def test_the_recipe_may_be_named_after_the_data() -> None:
    best = build_config(load_recipe("best"))
    assert plan_config("mnist", {"recipe": "best"}) == best
    assert plan_config("best", {}) == best
    assert plan_config("gaussians", {"recipe": "vectors"}).data["name"] == "gaussians"


def test_data_may_be_those_of_another_recipe() -> None:
    config = plan_config("vectors", {"recipe": "best", "sigma": 0.3})
    assert config.data == build_config(load_recipe("vectors")).data
    assert (config.method["name"], config.model["name"], config.sigma) == ("smoothadv", "mlp", 0.3)


def test_a_recipe_that_is_unknown_and_data_named_twice_are_refused() -> None:
    with pytest.raises(InputError, match=r"recipe 'bset' is unknown; did you mean 'best'"):
        plan_config("mnist", {"recipe": "bset"})
    with pytest.raises(InputError, match=r"'mnist' and data=cifar10 both name the data"):
        plan_config("mnist", {"recipe": "best", "data": "cifar10"})


@pytest.mark.parametrize(
    ("word", "method", "data"),
    [
        ("mnist", "smoothadv", "mnist"),  # a recipe and data: the data
        ("best", "smoothadv", "mnist"),
        ("gaussians", "smoothadv", "gaussians"),
        ("mnist/smoothmix-0.5", "smoothmix", "mnist"),
    ],
)
def test_with_minutes_a_word_is_data_unless_it_is_the_name_of_a_recipe_alone(
    word: str, method: str, data: str
) -> None:
    config = plan_config(word, {}, timed=True)
    assert (config.method["name"], config.data["name"]) == (method, data)


def test_minutes_and_another_length_are_refused() -> None:
    with pytest.raises(InputError, match="the minutes and epochs=3 both say how long to train"):
        plan_config("mnist", {"epochs": 3}, timed=True)


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(minutes: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a positive number"):
        fit_to_minutes(plan_config("best", {}), minutes, tmp_path)


def test_from_python_data_are_trained_on_for_minutes_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wassermix.engine.plan.MEASURED", 0.1)
    asked: dict[str, Any] = {"minutes": 0.003, "sigma": 0.3, "out": tmp_path / "run"}
    small = {"data.train_size": 60, "data.test_size": 20}
    run = wm.train("gaussians", small, **asked)
    assert (run.config.method["name"], run.config.sigma, run.config.epochs) == ("smoothadv", 0.3, None)
    monkeypatch.setattr("wassermix.engine.cost._pace", lambda state: 1e9)
    assert wm.train("gaussians", small, **asked, resume=True).config == run.config
