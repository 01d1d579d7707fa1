"""Several networks as one: the mean of their logits, whoever is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.engine import RunDir, load_dataset, make_model, train
from wassermix.engine.ensemble import save_ensemble
from wassermix.engine.settings import Config, build_config
from wassermix.models import Ensemble, build_model
from wassermix.models.ensemble import GROUP

MLP: dict[str, Any] = {"name": "mlp", "hidden": [8]}


def _ensemble(count: int = 3, consensus: int = 0, seed: int = 0) -> Ensemble:
    given: dict[str, Any] = {"members": [MLP] * count, "consensus": consensus}
    found = build_model("ensemble", seed=seed, shape=(4,), num_classes=3, **given).eval()
    assert isinstance(found, Ensemble)
    return found


def _inputs(count: int = 200) -> Tensor:
    return 3 * torch.randn(count, 4, generator=torch.Generator().manual_seed(0))


def test_the_logits_are_the_mean_of_different_members() -> None:
    ensemble, x = _ensemble(), _inputs()
    each = [member(x) for member in ensemble.members]
    assert not torch.allclose(each[0], each[1])
    torch.testing.assert_close(ensemble(x), sum(each) / 3)


def test_only_inputs_that_the_first_members_disagree_on_are_shown_to_the_others() -> None:
    ensemble, x, shown = _ensemble(4, consensus=2), _inputs(), []
    ensemble.members[3].register_forward_hook(lambda m, given, out: shown.append(len(given[0])))
    found = ensemble(x)
    asked = sum(shown)
    each = torch.stack([member(x) for member in ensemble.members])
    agree = each[0].argmax(1) == each[1].argmax(1)
    expected = torch.where(agree[:, None], each[:2].mean(0), each.mean(0))
    torch.testing.assert_close(found, expected)
    disagreed = int((~agree).sum())
    assert 0 < disagreed <= asked < disagreed + GROUP < len(x)


@pytest.mark.parametrize("count", [3, 20, GROUP, 200])
def test_all_forwards_of_a_member_have_one_shape_however_many_inputs_need_it(count: int) -> None:
    ensemble, shapes = _ensemble(4, consensus=2), set()
    ensemble.members[3].register_forward_hook(lambda m, given, out: shapes.add(given[0].shape))
    for inputs in _inputs(10 * count).split(count):
        ensemble(inputs)
    assert shapes == {(min(count, GROUP), 4)}


@pytest.mark.parametrize(
    ("member", "shape"), [(MLP, (4,)), ({"name": "lenet"}, (1, 28, 28))], ids=["mlp", "lenet"]
)
def test_an_input_gets_the_same_logits_to_the_last_bit_whatever_stands_beside_it(
    member: dict[str, Any], shape: tuple[int, ...]
) -> None:
    given: dict[str, Any] = {"members": [member] * 3, "consensus": 2}
    ensemble = build_model("ensemble", seed=0, shape=shape, num_classes=10, **given).eval()
    x = torch.randn(96, *shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found, alike = ensemble(x), x[:1].expand_as(x)
        for place in range(0, 96, 7):  # alone among copies of one other, at its own place and at another
            for new in (place, 50):
                among = alike.clone()
                among[new] = x[place]
                assert ensemble(among)[new].equal(found[place])


def test_an_input_alone_gets_the_logits_that_it_has_in_a_batch() -> None:
    ensemble, x = _ensemble(3, consensus=2), _inputs(20)
    alone = torch.cat([ensemble(one[None]) for one in x])
    torch.testing.assert_close(ensemble(x), alone)


@pytest.mark.parametrize(("count", "consensus"), [(0, 0), (3, 1), (3, 3), (1, 1)])
def test_a_consensus_that_saves_nothing_is_refused(count: int, consensus: int) -> None:
    with pytest.raises(InputError, match="consensus"):
        _ensemble(count, consensus)


def _config(**more: Any) -> Config:
    recipe = {
        "data": {"name": "gaussians", "dim": 4, "train_size": 60, "test_size": 20},
        "model": MLP,
        "method": {"name": "gaussian", "sigma": 0.5},
        "epochs": 1,
    }
    return build_config(recipe, {key.replace("__", "."): value for key, value in more.items()})


def test_a_saved_ensemble_is_a_run_like_any_other(tmp_path: Path) -> None:
    runs = [tmp_path / f"run{seed}" for seed in range(3)]
    for seed, run in enumerate(runs):
        train(_config(seed=seed), run)
    save_ensemble(runs, tmp_path / "all", consensus=2)
    save_ensemble(runs, tmp_path / "all", consensus=2)  # once more changes nothing
    RunDir(tmp_path / "all").weights_file.unlink()
    save_ensemble(runs, tmp_path / "all", consensus=2)  # killed before the weights were written, it goes on
    config = RunDir(tmp_path / "all").config()
    loaded = _loaded(tmp_path / "all")
    assert isinstance(loaded, Ensemble)
    assert (config.sigma, loaded.consensus) == (0.5, 2)
    x = _inputs()
    loaded.consensus = 0
    expected = torch.stack([_loaded(run)(x) for run in runs]).mean(0)
    torch.testing.assert_close(loaded(x), expected)
    with pytest.raises(InputError, match="--overwrite"):
        save_ensemble(runs[:2], tmp_path / "all")


def _loaded(run: Path) -> nn.Module:
    config = RunDir(run).config()
    model = make_model(config, load_dataset(config)).eval()
    RunDir(run).load_weights(model)
    return model


def test_runs_with_different_noise_make_no_ensemble(tmp_path: Path) -> None:
    train(_config(), tmp_path / "a")
    train(_config(method__sigma=0.25), tmp_path / "b")
    with pytest.raises(InputError, match="one sigma"):
        save_ensemble([tmp_path / "a", tmp_path / "b"], tmp_path / "both")


def test_the_seed_decides_where_the_members_start() -> None:
    x = _inputs()
    assert _ensemble(seed=1)(x).equal(_ensemble(seed=1)(x))
    assert not torch.allclose(_ensemble(seed=1)(x), _ensemble(seed=2)(x))
