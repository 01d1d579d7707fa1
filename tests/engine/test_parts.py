"""How the parts of a training meet: the search under the method's own attack, the embedding kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from wassermix.augment import GeodesicAugmenter
from wassermix.augment.protocol import Augmentation
from wassermix.core import labels
from wassermix.embed import VAE
from wassermix.engine import train
from wassermix.engine.objective import conditions_of
from wassermix.engine.settings import build_config
from wassermix.methods import TRADES, Gaussian, PGDTraining

PGD = PGDTraining(eps=0.5, steps=3)


@pytest.mark.parametrize("method", [PGD, TRADES(norm="l2", eps=0.5, steps=3)])
def test_the_worst_time_is_scored_on_what_the_method_would_train_on(method: PGDTraining | TRADES) -> None:
    generator = torch.Generator().manual_seed(0)
    model, x = nn.Linear(5, 3), torch.rand(8, 5, generator=generator)
    y = labels.soft(torch.arange(8) % 3, 3)
    attack = conditions_of(method, 1.0, generator).attack
    assert attack is not None
    moved = attack(model, x, y)
    assert float((moved - x).norm(dim=1).max()) <= 0.5 + 1e-5
    if method is PGD:
        before, after = (labels.cross_entropy(model(point), y) for point in (x, moved))
        assert bool((after >= before).all())


@pytest.mark.parametrize(
    ("method", "augment"),
    [
        (Gaussian(sigma=0.5), GeodesicAugmenter(3)),
        (PGD, GeodesicAugmenter(3, attacked=False)),
        (PGD, GeodesicAugmenter(3, choice="random")),
    ],
    ids=["noise alone", "not wanted", "nothing to search"],
)
def test_without_an_attack_to_score_under_there_is_none(
    method: Gaussian | PGDTraining, augment: GeodesicAugmenter
) -> None:
    assert "attack" not in augment.scored_under or conditions_of(method, 1.0).attack is None
    assert Augmentation(augment).passes(conditions_of(method, 1.0)) == augment.passes


def test_the_attack_of_the_search_is_counted(tmp_path: Path) -> None:
    augment = GeodesicAugmenter(3, candidates=4, search_share=0.5)
    forwards = 4 * 0.5
    cost = Augmentation(augment).passes(conditions_of(PGD, 1.0))
    assert cost == pytest.approx(forwards * (1 / 3 + PGD.steps))
    raw = {
        "data": {"name": "gaussians", "train_size": 90}, "model": {"name": "mlp", "hidden": []},
        "method": {"name": "pgd", "eps": 0.5, "steps": 3}, "epochs": 1, "batch_size": 30,
        "augment": {"name": "geodesic", "candidates": 4, "search_share": 0.5, "warm_up": 0.0},
    }  # fmt: skip
    state = train(build_config(raw), tmp_path / "run")
    assert state.passes == pytest.approx(180 * 4 + 90 * forwards * (1 / 3 + 3))


def test_a_vae_is_fitted_once_for_all_runs_on_the_same_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    images = np.random.default_rng(0).integers(0, 256, (40, 28, 28), dtype=np.uint8)
    y = np.arange(40) % 2
    np.savez(tmp_path / "data.npz", x_train=images, y_train=y, x_test=images[:4], y_test=y[:4])
    raw: dict[str, Any] = {
        "data": {"name": str(tmp_path / "data.npz")}, "model": {"name": "lenet"},
        "method": {"name": "gaussian", "sigma": 0.5}, "epochs": 1, "augment": {"name": "geodesic"},
        "embed": {"name": "vae", "size": 4, "epochs": 1, "width": 4},
    }  # fmt: skip
    seen: list[tuple[int, int]] = []
    train(build_config(raw), tmp_path / "first", fitting=lambda *at: seen.append(at))
    assert seen[-1][0] == seen[-1][1]
    row = json.loads((tmp_path / "first" / "metrics.jsonl").read_text().splitlines()[-1])
    assert 0 < row["reconstruction_error"] < 1

    def fit_again(*_: object, **__: object) -> None:
        raise AssertionError("the embedding was fitted a second time")

    monkeypatch.setattr(VAE, "fit", fit_again)
    train(build_config(raw), tmp_path / "second")
    first, second = (load_file(tmp_path / run / "embedding.safetensors") for run in ("first", "second"))
    assert all(first[name].equal(second[name]) for name in first)
