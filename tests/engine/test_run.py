"""A run as an object says and does what the commands do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import wassermix as wm
from wassermix.core.fingerprint import fingerprint
from wassermix.engine import run as module

RECIPE = {
    "data": {"name": "gaussians", "dim": 3, "train_size": 60, "test_size": 24, "separation": 4.0},
    "model": {"name": "mlp", "hidden": [4]},
    "method": {"name": "gaussian"},
    "epochs": 2,
    "batch_size": 20,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> wm.Run:
    folder = tmp_path_factory.mktemp("run") / "a"
    return wm.train(RECIPE, {"optimizer.lr": 0.1}, method="consistency", sigma=0.4, out=folder)


def test_a_run_has_its_model_data_config_and_metrics(run: wm.Run) -> None:
    assert run.config.method["name"] == "consistency"
    assert (run.config.sigma, run.config.optimizer.lr) == (0.4, 0.1)
    assert len(run.data.test) == 24
    assert [row["epoch"] for row in run.metrics] == [1, 2]
    stored = load_file(run.folder / "model.safetensors")
    assert all(torch.equal(stored[name], tensor) for name, tensor in run.model.state_dict().items())
    assert not run.model.training


def test_a_run_is_loaded_from_its_folder_and_stands_for_it(run: wm.Run) -> None:
    again = wm.load_run(run.folder)
    assert again.config == run.config
    assert os.fspath(again) == str(run.folder)


def test_certificates_carry_the_runs_noise_and_are_read_when_they_are_there(
    run: wm.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run.certify(mode="grid", n=300, images=6)
    assert first.summary()["sigma"] == 0.4
    assert (run.folder / "certify" / "grid-s0.4-n300.tsv").exists()
    monkeypatch.setattr("wassermix.certify.run.certify_images", lambda *_, **__: None)
    again = run.certify(mode="grid", n=300, images=6)
    assert again.summary()["p_a"] == first.summary()["p_a"]
    with pytest.raises(wm.InputError, match="certify: key 'mod' is unknown; did you mean 'mode'"):
        run.certify(mod="grid")


def test_attack_and_audit_write_into_the_run(run: wm.Run) -> None:
    attacked = run.attack(norm="l2", eps=0.5, steps=3, images=12)
    assert attacked.robust.accuracy <= attacked.clean.accuracy
    audited = run.audit(points=3)
    assert audited.parameters["sigma"] == 0.4
    assert run.audit(points=3, sigma=0.0).parameters["sigma"] == 0.0
    assert len(list((run.folder / "attack").glob("*.json"))) == 1
    assert len(list((run.folder / "audit").glob("*.json"))) == 2


def test_two_audits_in_one_call_are_refused_with_the_two_calls(run: wm.Run) -> None:
    before = sorted(run.folder.rglob("*"))
    with pytest.raises(
        wm.InputError, match=r"call run.audit\(pairing='exact'\) and run.audit\(pairing='random'"
    ):
        run.audit(pairing="both", points=3)
    assert sorted(run.folder.rglob("*")) == before
    exact, random = (run.audit(pairing=one, points=4) for one in ("exact", "random"))
    assert exact.parameters["transport"] != random.parameters["transport"]


def test_words_given_twice_and_folders_that_are_no_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(wm.InputError, match="'epochs' is given twice"):
        wm.train(RECIPE, {"epochs": 1}, epochs=2, out=tmp_path / "run")
    with pytest.raises(wm.InputError, match="does not exist"):
        wm.load_run(tmp_path / "nowhere")


def test_without_a_folder_the_run_is_named_after_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "train", lambda *_, **__: None)
    assert wm.train(RECIPE, seed=3).folder == Path("runs/gaussians-gaussian-s0.5-seed3")


def test_last_judges_the_weights_before_they_are_averaged(tmp_path: Path) -> None:
    run = wm.train(RECIPE, sigma=0.4, average=0.99, out=tmp_path / "averaged")
    few = {"mode": "fixed", "n": 100, "images": 4}
    judged = {last: run.certify(last=last, **few).about["model"] for last in (False, True)}
    last = run.target(last=True).model
    assert isinstance(last, torch.nn.Module)
    stored = load_file(run.folder / "last.safetensors")
    assert all(torch.equal(stored[name], tensor) for name, tensor in last.state_dict().items())
    assert judged == {False: fingerprint(run.model), True: fingerprint(last)}
    assert judged[False] != judged[True]
    assert {path.stem for path in (run.folder / "certify").glob("*.tsv")} == {
        "fixed-s0.4-n100", "fixed-s0.4-n100-last",
    }  # fmt: skip
