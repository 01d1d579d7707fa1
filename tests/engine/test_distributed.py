"""Two processes under gloo train as one does on batches twice as large."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp
from safetensors.torch import load_file

from wassermix.engine import RunDir, distributed, train
from wassermix.engine.settings import build_config

RECIPE: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 96, "test_size": 20},
    "model": {"name": "mlp", "hidden": [8]},
    "method": {"name": "erm"},
    "epochs": 2,
    "batch_size": 16,
}
TAUGHT = {"data.train_size": 95, "method": {"name": "catrs", "draws": 900}}  # an odd number of samples
NOISY = {"method": "gaussian", "augment": "geodesic", "augment.pair_size": 8, "regularizer": "geodesic"}


def _worker(rank: int, port: int, out: str) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with distributed.process_group():
        train(build_config(RECIPE), Path(out) / "two")
        train(build_config(RECIPE, NOISY), Path(out) / "noisy")
        taught = {**TAUGHT, "method.teacher": str(Path(out) / "two")}
        train(build_config(RECIPE, taught), Path(out) / "taught")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("distributed")
    mp.spawn(_worker, args=(_free_port(), str(out)), nprocs=2)
    return out


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one_on_double_batches(trained: Path, tmp_path: Path) -> None:
    train(build_config(RECIPE, {"batch_size": 32}), tmp_path / "one")
    one, two = (load_file(folder / "model.safetensors") for folder in (tmp_path / "one", trained / "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=1e-5, rtol=1e-4)


@pytest.mark.slow
def test_augmentation_and_smoothness_train_in_two_processes(trained: Path) -> None:
    last = json.loads((trained / "noisy" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["updates"] == 2 * (2 * 96 // 32)
    assert "smoothness" in last["loss"]


@pytest.mark.slow
def test_two_processes_share_the_votes_of_a_teacher(trained: Path, tmp_path: Path) -> None:
    train(build_config(RECIPE, {**TAUGHT, "method.teacher": str(trained / "two")}), tmp_path / "taught")
    one, two = (RunDir(folder / "taught").load_state()["votes"] for folder in (tmp_path, trained))
    assert two.shape == one.shape == (95, 2)
    assert not two.equal(one)  # each process has noises of its own
    torch.testing.assert_close(two, one, atol=0.1, rtol=0)  # six standard errors of 900 votes
