"""What a training is estimated to cost is what it then spends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wassermix.engine import estimate_training, train
from wassermix.engine.settings import build_config

PLAIN: dict[str, Any] = {
    "data": {"name": "gaussians", "train_size": 200}, "model": {"name": "mlp", "hidden": [8]},
    "method": {"name": "gaussian", "sigma": 0.5}, "batch_size": 50, "epochs": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"method": {"name": "consistency", "noises": 3, "sigma": 0.5}},
        {"augment": {"name": "geodesic", "ratio": 2.0, "refresh": 2}},
        {"augment": {"name": "mixup"}, "regularizer": {"name": "geodesic"}},
        {"budget": "passes:1000"},
        {
            "budget": "passes:16000",
            "batch_size": 10,
            "method": {
                "name": "phases",
                "sigma": 0.5,
                "until": [0.3],
                "sections": [{"name": "gaussian"}, {"name": "consistency", "noises": 8}],
            },
        },
    ],
    ids=["plain", "copies", "stored", "online", "budget", "phases"],
)
def test_updates_and_passes_are_those_of_the_training(change: dict[str, Any], tmp_path: Path) -> None:
    config = build_config(PLAIN | change)
    cost, spent = estimate_training(config, seconds=0.01), train(config, tmp_path / "run")
    assert cost.updates == pytest.approx(spent.updates, abs=1)
    assert cost.epochs == pytest.approx(spent.epoch, abs=0.2)
    assert cost.passes == pytest.approx(spent.passes, rel=0.05)
    assert cost.minutes > 0
