"""The training loop on small problems: budgets kept to the update, streams apart, failures told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from wassermix.core.errors import InputError
from wassermix.engine import train
from wassermix.engine.settings import Config, build_config

SMALL: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 200, "test_size": 50, "separation": 4.0},
    "model": {"name": "mlp", "hidden": [8]},
    "method": {"name": "gaussian", "sigma": 0.5},
    "epochs": 2,
    "batch_size": 32,
    "optimizer": {"lr": 0.1},
}


def _config(**overrides: Any) -> Config:
    return build_config(SMALL, {key.replace("__", "."): value for key, value in overrides.items()})


def _rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_training_learns_a_separable_problem(tmp_path: Path) -> None:
    train(_config(epochs=5), tmp_path / "run")
    assert _rows(tmp_path / "run")[-1]["accuracy"] > 0.9


@pytest.mark.parametrize("augment", [None, "geodesic", "mixup"])
def test_an_update_budget_is_kept_to_the_update_whatever_the_augmenter(
    tmp_path: Path, augment: str | None
) -> None:
    state = train(_config(updates=17, augment=augment), tmp_path / "run")
    assert state.updates == 17


def test_a_stored_set_doubles_an_epoch(tmp_path: Path) -> None:
    plain = train(_config(), tmp_path / "plain")
    doubled = train(_config(augment="geodesic"), tmp_path / "doubled")
    assert (plain.images, doubled.images) == (400, 800)


def test_a_pass_budget_counts_what_the_method_costs(tmp_path: Path) -> None:
    cheap = train(_config(budget="passes:1000"), tmp_path / "cheap")
    dear = train(_config(budget="passes:1000", method="stability"), tmp_path / "dear")
    assert 1000 <= cheap.passes < 1000 + 32
    assert 1000 <= dear.passes < 1000 + 64
    assert cheap.updates > 1.8 * dear.updates
    assert _rows(tmp_path / "cheap")[-1]["passes"] == round(cheap.passes)


def test_chunking_takes_several_updates_a_batch(tmp_path: Path) -> None:
    state = train(_config(updates_per_batch=4), tmp_path / "run")
    assert (state.updates, state.epoch) == (2 * (6 * 4 + 4), 2)


def test_a_last_batch_too_small_to_be_cut_does_not_add_an_epoch(tmp_path: Path) -> None:
    state = train(_config(updates_per_batch=4, data__train_size=35), tmp_path / "run")
    assert (state.updates, state.epoch) == (2 * (4 + 3), 2)  # batches of 32 and of 3: four chunks, three


def test_the_seed_decides_and_the_global_stream_does_not(tmp_path: Path) -> None:
    weights = []
    for name, seed, noise in (("a", 0, 1), ("b", 0, 2), ("c", 1, 1)):
        torch.manual_seed(noise)
        train(_config(seed=seed), tmp_path / name)
        weights.append(load_file(tmp_path / name / "model.safetensors")["fc.weight"])
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_training_leaves_the_global_stream_alone(tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    train(_config(augment="geodesic", regularizer="geodesic"), tmp_path / "run")
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_loss_that_explodes_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ArithmeticError, match=r"lower optimizer\.lr"):
        train(_config(optimizer__lr=1e30, epochs=10), tmp_path / "run")


def test_parts_that_do_not_go_together_are_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        train(_config(method="smoothadv", augment="manifold"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_held_out_samples_are_watched_where_there_are_any(tmp_path: Path) -> None:
    train(_config(data__holdout=0.2), tmp_path / "run")
    assert _rows(tmp_path / "run")[-1]["accuracy_on"] == "holdout"


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    train(_config(tensorboard=True), tmp_path / "run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    shown = [event.value for event in events.Scalars("accuracy")]
    np.testing.assert_allclose(shown, [row["accuracy"] for row in _rows(tmp_path / "run")], rtol=1e-6)


def test_an_image_folder_trains_through_worker_processes_as_without(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split, count in (("train", 12), ("test", 4)):
        for name, level in (("dark", 40), ("light", 200)):
            folder = tmp_path / "images" / split / name
            folder.mkdir(parents=True)
            for i in range(count):
                pixels = np.clip(rng.normal(level, 20, (16, 16)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{i}.png")
    recipe = {**SMALL, "data": {"name": str(tmp_path / "images")}, "batch_size": 8}
    weights = []
    for workers in (0, 2):
        train(build_config(recipe, {"workers": workers}), tmp_path / f"run{workers}")
        weights.append(load_file(tmp_path / f"run{workers}" / "model.safetensors")["fc.weight"])
    assert torch.equal(*weights)
