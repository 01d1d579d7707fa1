"""The moving average of the weights, and the limit on the gradient's length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from wassermix.core.errors import InputError
from wassermix.engine import RunDir, load_dataset, make_model, train
from wassermix.engine.average import WeightAverage
from wassermix.engine.settings import Config, build_config

SMALL: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 120, "test_size": 20},
    "model": {"name": "mlp", "hidden": [8]},
    "method": {"name": "gaussian", "sigma": 0.5},
    "updates": 12,
    "batch_size": 32,
    "optimizer": {"lr": 0.1},
}


def _config(**overrides: Any) -> Config:
    return build_config(SMALL, {key.replace("__", "."): value for key, value in overrides.items()})


def _weights(folder: Path, name: str = "model") -> dict[str, torch.Tensor]:
    return load_file(folder / f"{name}.safetensors")


def test_the_average_weighs_every_update_as_its_formula_says() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    average, expected = WeightAverage(model, 0.5), model[0].weight.detach().clone()
    for updates in range(1, 20):
        with torch.no_grad():
            model[0].weight += 1
        average.update(model, updates)
        decay = min(0.5, (1 + updates) / (10 + updates))
        expected = decay * expected + (1 - decay) * model[0].weight.detach()
    torch.testing.assert_close(average.model[0].weight.data, expected)


def test_statistics_of_batch_norm_are_averaged_and_counters_copied() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3)).train()
    average = WeightAverage(model, 0.5)
    for updates in range(1, 30):
        model(10 + torch.randn(64, 3, generator=torch.Generator().manual_seed(updates)))
        average.update(model, updates)
    kept = average.model[0]
    torch.testing.assert_close(kept.running_mean, torch.full((3,), 10.0), atol=1.5, rtol=0)
    assert int(kept.num_batches_tracked) == 29
    assert not kept.training


def test_the_average_is_what_is_judged_and_the_last_weights_are_kept(tmp_path: Path) -> None:
    config = _config(average=0.9)
    train(config, tmp_path / "averaged")
    train(_config(), tmp_path / "plain")
    judged, last = _weights(tmp_path / "averaged"), _weights(tmp_path / "averaged", "last")
    plain = _weights(tmp_path / "plain")
    assert all(last[name].equal(plain[name]) for name in plain)  # averaging leaves the training alone
    assert not all(judged[name].equal(plain[name]) for name in plain)
    model = make_model(config, load_dataset(config))
    for wanted, found in ((False, judged), (True, last)):
        RunDir(tmp_path / "averaged").load_weights(model, last=wanted)
        assert all(tensor.equal(found[name]) for name, tensor in model.state_dict().items())


class _Stop(Exception):
    pass


def test_a_training_stopped_and_resumed_ends_with_the_same_average(tmp_path: Path) -> None:
    config = _config(average=0.9, method="catrs", method__teacher="average", method__draws=2)

    def stop(share: float, line: str) -> None:
        if share > 0.6:
            raise _Stop

    train(config, tmp_path / "straight")
    with pytest.raises(_Stop):
        train(config, tmp_path / "stopped", progress=stop)
    train(config, tmp_path / "stopped", resume=True)
    for name in ("model", "last"):
        straight, stopped = (_weights(tmp_path / run, name) for run in ("straight", "stopped"))
        assert all(straight[key].equal(stopped[key]) for key in straight)


def test_a_teacher_that_is_the_average_needs_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"average=0\.999"):
        train(_config(method="catrs", method__teacher="average"), tmp_path / "run")


def test_clipping_bounds_what_one_update_can_do(tmp_path: Path) -> None:
    plain = _config(updates=1, optimizer__momentum=0.0, optimizer__weight_decay=0.0)
    start = make_model(plain, load_dataset(plain)).state_dict()
    for name, clip in (("free", 0.0), ("clipped", 1e-3)):
        train(
            plain.model_copy(update={"optimizer": plain.optimizer.model_copy(update={"clip": clip})}),
            tmp_path / name,
        )
    lengths = {
        name: sum(float((w - start[key]).square().sum()) for key, w in _weights(tmp_path / name).items())
        ** 0.5
        for name in ("free", "clipped")
    }
    assert lengths["free"] > 2e-4
    assert lengths["clipped"] == pytest.approx(0.1 * 1e-3, rel=1e-2)
