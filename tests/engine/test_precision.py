"""Training in bfloat16: the network's products lose bits, its weights, its answers and the loss do not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from wassermix.augment import FeatureGeodesic
from wassermix.augment.manifold import ManifoldMixup
from wassermix.augment.protocol import Augmentation
from wassermix.engine import RunDir, precision, train
from wassermix.engine.objective import Extras, Objective
from wassermix.engine.precision import computing_in
from wassermix.engine.settings import Config, build_config, config_hash
from wassermix.methods import Batch, Gaussian
from wassermix.models import build_model

pytestmark = pytest.mark.filterwarnings("ignore:precision=bfloat16")  # by the processor of this machine

SMALL: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 400, "test_size": 200},
    "model": {"name": "mlp", "hidden": [16]},
    "method": {"name": "gaussian", "sigma": 0.5},
    "epochs": 4,
    "batch_size": 32,
    "optimizer": {"lr": 0.1},
}


def _config(**overrides: Any) -> Config:
    return build_config(SMALL, overrides)


def test_products_are_bfloat16_and_answers_and_gradients_float32() -> None:
    net, seen = build_model("lenet", shape=(1, 28, 28), num_classes=10), []
    net.hidden.register_forward_hook(lambda *call: seen.append(call[2].dtype))
    with computing_in("bfloat16", net):
        answer = net(torch.rand(3, 1, 28, 28))
        answer.sum().backward()
    assert seen == [torch.bfloat16]
    assert answer.dtype == torch.float32
    assert all(one.grad is not None and one.grad.dtype == torch.float32 for one in net.parameters())


@torch.no_grad()
def test_answers_are_those_of_float32_up_to_the_rounding_of_bfloat16() -> None:
    net, x = build_model("lenet", shape=(1, 28, 28), num_classes=10), torch.rand(8, 1, 28, 28)
    exact = net(x)
    with computing_in("bfloat16", net):
        rounded = net(x)
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, atol=0.02 * float(exact.abs().max()), rtol=0)
    assert torch.equal(net(x), exact)


def test_the_network_is_itself_again_after_an_error() -> None:
    class Broken(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("on purpose")

    net = Broken(2, 2)
    with pytest.raises(RuntimeError, match="on purpose"), computing_in("bfloat16", net):
        net(torch.zeros(1, 2))
    assert "forward" not in vars(net)
    assert not torch.is_autocast_enabled("cpu")


def test_a_forward_of_the_models_own_is_kept() -> None:
    class Net(nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 2)
            self.forward = self.doubled

        def doubled(self, x: Tensor) -> Tensor:
            return 2 * nn.functional.linear(x, self.weight, self.bias)

    net, x = Net(), torch.ones(1, 2)
    before = net(x)
    for _ in range(2):
        with computing_in("bfloat16", net):
            assert torch.allclose(net(x), before, rtol=0.02, atol=0.02)
    assert torch.equal(net(x), before)


@pytest.mark.parametrize(
    "augmenter",
    [
        ManifoldMixup(num_classes=10),
        *(FeatureGeodesic(num_classes=10, pairing=one) for one in ("exact", "entropic", "random")),
    ],
)
def test_features_are_mixed_in_the_precision_of_their_layer(augmenter: Any) -> None:
    net = build_model("lenet", shape=(1, 28, 28), num_classes=10)
    extras = Extras(Augmentation(augmenter))
    objective = Objective(net, Gaussian(sigma=0.5), num_classes=10, extras=extras, precision="bfloat16")
    batch = Batch(torch.rand(6, 1, 28, 28), torch.arange(6), generator=torch.Generator().manual_seed(0))
    loss = torch.stack(list(objective(batch).values())).sum()
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(bool(one.grad.isfinite().all()) for one in net.parameters() if one.grad is not None)


def test_training_in_bfloat16_learns_what_float32_learns(tmp_path: Path) -> None:
    found = {}
    for name in ("float32", "bfloat16"):
        train(_config(precision=name), tmp_path / name)
        found[name] = load_file(tmp_path / name / "model.safetensors")
    exact, rounded = found["float32"], found["bfloat16"]
    assert all(one.dtype == torch.float32 for one in rounded.values())
    gaps = [float((rounded[name] - exact[name]).norm() / exact[name].norm()) for name in exact]
    assert 0 < max(gaps) < 0.1


def test_a_training_in_bfloat16_that_was_stopped_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(share: float, _: str) -> None:
        if share > 0.6:
            raise Stop

    config = _config(precision="bfloat16")
    train(config, tmp_path / "whole")
    with pytest.raises(Stop):
        train(config, tmp_path / "stopped", progress=stop)
    train(config, tmp_path / "stopped", resume=True)
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("whole", "stopped")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_runs_from_before_the_option_are_runs_in_float32() -> None:
    record = _config().model_dump(mode="json")
    del record["precision"]
    assert config_hash(record) == config_hash(_config())
    assert config_hash(record) != config_hash(_config(precision="bfloat16"))


def test_the_run_says_its_precision(tmp_path: Path) -> None:
    train(_config(precision="bfloat16", epochs=1), tmp_path / "run")
    assert RunDir(tmp_path / "run").config().precision == "bfloat16"


@pytest.mark.parametrize("native", [True, False, None])
def test_a_processor_without_bfloat16_is_named_before_training(
    native: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: native)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        precision.warn_where_slow("bfloat16", torch.device("cpu"))
        precision.warn_where_slow("float32", torch.device("cpu"))
    assert [str(one.message)[:18] for one in told] == (["precision=bfloat16"] if native is False else [])
