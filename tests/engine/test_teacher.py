"""A run as a teacher: it votes once on every training sample, and its votes find their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.engine import RunDir, estimate_training, load_dataset, make_model, train
from wassermix.engine.plan import fit_to_minutes
from wassermix.engine.settings import Config, build_config
from wassermix.methods import CATRS, Batch
from wassermix.methods.protocol import Counting
from wassermix.methods.teacher import count_votes

SMALL: dict[str, Any] = {
    "data": {"name": "gaussians", "dim": 4, "train_size": 120, "test_size": 20},
    "model": {"name": "mlp", "hidden": [8]},
    "method": {"name": "gaussian", "sigma": 0.5},
    "epochs": 3,
    "batch_size": 32,
    "optimizer": {"lr": 0.1},
}
SAMPLES, DRAWS = 120, 30
STEP, VOTES = 4 * (4 + 2), SAMPLES * DRAWS / 3
"""Passes of a sample at a step, and of all votes."""


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("taught") / "teacher"
    train(build_config(SMALL), folder)
    return folder


def _taught(teacher: Path, **more: Any) -> Config:
    method = {"name": "catrs", "sigma": 0.5, "teacher": str(teacher), "draws": DRAWS}
    return build_config({**SMALL, "method": method, **more})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """Every batch that the method is given."""
    batches: list[Batch] = []
    loss = CATRS.loss

    def spied(self: CATRS, model: Any, batch: Batch) -> dict[str, Tensor]:
        batches.append(batch)
        return loss(self, model, batch)

    monkeypatch.setattr(CATRS, "loss", spied)
    return batches


def test_minutes_are_fitted_to_a_teacher_whose_votes_exceed_the_recipes_own_budget(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wassermix.engine.plan.MEASURED", 0.1)
    monkeypatch.setattr("wassermix.engine.cost._pace", lambda state: 1000.0)
    config = _taught(teacher, budget=f"passes:{VOTES:.0f}", epochs=None)
    plan = fit_to_minutes(config, 0.1, tmp_path / "run")
    assert plan.cost is not None
    assert plan.config.budget == "passes:6000"
    assert plan.cost.updates == pytest.approx((6000 - VOTES) / (32 * STEP), rel=0.2)


def test_the_folder_of_a_teacher_is_found_from_anywhere(
    teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(teacher.parent)
    method = {"name": "catrs", "sigma": 0.5, "teacher": "teacher", "draws": DRAWS}
    assert build_config({**SMALL, "method": method}).method["teacher"] == str(teacher.resolve())


def test_the_words_for_a_teacher_mean_no_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "average").mkdir()
    monkeypatch.chdir(tmp_path)
    method = {"name": "catrs", "sigma": 0.5, "teacher": "average"}
    assert build_config({**SMALL, "method": method}).method["teacher"] == "average"


def test_votes_cost_a_third_of_a_pass_for_each_draw_once(teacher: Path, tmp_path: Path) -> None:
    state = train(_taught(teacher), tmp_path / "run")
    assert state.images == 3 * SAMPLES
    assert state.passes == pytest.approx(VOTES + 3 * SAMPLES * STEP)


@pytest.mark.parametrize("updates_per_batch", [1, 3])
def test_each_sample_brings_its_own_votes(
    teacher: Path, tmp_path: Path, seen: list[Batch], updates_per_batch: int
) -> None:
    config = _taught(teacher, epochs=2, updates_per_batch=updates_per_batch)
    train(config, tmp_path / "run")
    data = load_dataset(config)
    network = make_model(RunDir(teacher).config(), data)
    RunDir(teacher).load_weights(network)
    generator = torch.Generator().manual_seed(99)  # other noises, and so many that the share is known
    share = count_votes(network, data.train, Counting(0.5, 4000), generator=generator)
    samples = data.train.get(torch.arange(SAMPLES))
    assert sum(len(batch) for batch in seen) == 2 * SAMPLES
    for batch in seen:
        places = torch.cdist(batch.x, samples).argmin(dim=1)
        assert samples[places].equal(batch.x)
        assert batch.votes is not None
        torch.testing.assert_close(batch.votes, share[places], atol=5 * 0.5 / DRAWS**0.5, rtol=0)


@pytest.mark.parametrize("mode", ["stored", "online"])
def test_samples_of_an_augmenter_are_left_to_their_labels(
    teacher: Path, tmp_path: Path, seen: list[Batch], mode: str
) -> None:
    augment = {"name": "geodesic", "ratio": 1.0, "mode": mode}
    train(_taught(teacher, epochs=1, augment=augment), tmp_path / "run")
    votes = torch.cat([batch.votes for batch in seen if batch.votes is not None])
    assert len(votes) == 2 * SAMPLES
    assert int(votes.isnan().all(dim=1).sum()) == SAMPLES


class _Stop(Exception):
    pass


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.6])
def test_a_training_stopped_and_resumed_ends_the_same(teacher: Path, tmp_path: Path, moment: float) -> None:
    config = _taught(teacher, epochs=None, budget=f"passes:{VOTES + 3 * SAMPLES * STEP:.0f}")

    def stop(share: float, line: str) -> None:
        if share >= moment:
            raise _Stop

    straight = train(config, tmp_path / "straight")
    with pytest.raises(_Stop):
        train(config, tmp_path / "stopped", progress=stop)
    stopped = train(config, tmp_path / "stopped", resume=True)
    assert stopped.passes == straight.passes
    weights = [load_file(tmp_path / run / "model.safetensors") for run in ("straight", "stopped")]
    assert all(weights[0][name].equal(weights[1][name]) for name in weights[0])


def test_a_budget_pays_for_the_votes_and_the_schedule_begins_after_them(
    teacher: Path, tmp_path: Path, seen: list[Batch]
) -> None:
    state = train(_taught(teacher, epochs=None, budget=f"passes:{VOTES + 960 * STEP:.0f}"), tmp_path / "run")
    assert state.images == 960
    assert state.passes == pytest.approx(VOTES + 960 * STEP)
    assert [seen[0].progress, seen[15].progress] == pytest.approx([0.0, 0.46875], abs=0.05)


def test_a_budget_that_the_votes_use_up_is_refused_before_a_run_is_begun(
    teacher: Path, tmp_path: Path
) -> None:
    config = _taught(teacher, epochs=None, budget="passes:1200")
    with pytest.raises(InputError, match=r"120 training samples cost 1,200 passes.*lower method\.draws"):
        train(config, tmp_path / "run")
    with pytest.raises(InputError, match="cost 1,200 passes"):
        estimate_training(config)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("length", [{"epochs": 4}, {"epochs": None, "budget": "passes:9000"}])
def test_the_votes_are_in_the_estimate_without_being_counted(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: dict[str, Any]
) -> None:
    config = _taught(teacher, **length)
    spent = train(config, tmp_path / "run")
    monkeypatch.setattr("wassermix.engine.loop.count_votes", None)
    cost = estimate_training(config, seconds=0.01)
    assert cost.updates == pytest.approx(spent.updates, rel=0.1)
    assert cost.passes == pytest.approx(spent.passes, rel=0.1)
