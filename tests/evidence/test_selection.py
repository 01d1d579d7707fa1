"""A bundle has the results of its own model on its own samples; the command names the others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from cli.words import run
from evidence.clouds import save_clouds

CERTIFY = ("--n", 200, "--images", 6)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with averaged weights and results of all kinds: its own, of others, and a broken-off one."""
    folder = tmp_path_factory.mktemp("work")
    save_clouds(folder / "d.npz")
    (folder / "mine.py").write_text("from torch import nn\n\n\ndef net():\n    return nn.Linear(3, 3)\n")
    save_file({"weight": torch.eye(3), "bias": torch.zeros(3)}, folder / "net.safetensors")
    train = (
        f"data={folder / 'd.npz'}",
        "model=mlp",
        "updates=20",
        "data.holdout=0.2",
        "average=0.9",
        "sigma=0.5",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        assert run(patch, "train", "vectors", *train, "sigma=0.5", "--out", "run") == 0
        certify = ("certify", "run", *CERTIFY)
        attack = ("attack", "run", "--norm", "l2", "--eps", 0.3, "--steps", 2, "--images", 6)
        assert run(patch, *certify) == 0
        assert run(patch, *certify, "--last") == 0
        assert run(patch, *certify, "--split", "holdout", "--name", "held-out") == 0
        assert run(patch, *certify, *foreign(folder), "--sigma", 0.5, "--name", "foreign") == 0
        assert run(patch, *attack) == 0
        assert run(patch, *attack, *foreign(folder), "--name", "foreign") == 0
    own = folder / "run" / "certify" / "fixed-s0.5-n200.tsv"
    (own.parent / "cut.tsv").write_text("".join(own.read_text().splitlines(keepends=True)[:3]))
    return folder


def foreign(folder: Path) -> tuple[object, ...]:
    """The options that name the other model and the data."""
    return ("--model", "mine:net", "--weights", folder / "net.safetensors", "--data", folder / "d.npz")


def test_results_of_others_stay_out_and_are_named(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "evidence", work / "run", "--out", tmp_path / "bundle") == 0
    said = " ".join(capsys.readouterr().out.split())
    for name in (
        "certify/foreign, of the model mine:net",
        "certify/held-out, of the split holdout",
        "certify/cut, not finished",
        "attack/foreign, of the model mine:net",
    ):
        assert f"left out: {name}" in said
    kept = {path.name for path in (tmp_path / "bundle" / "run" / "certify").iterdir()}
    stems = ("fixed-s0.5-n200", "fixed-s0.5-n200-last")
    assert kept == {f"{stem}{end}" for stem in stems for end in (".tsv", ".json")}
    assert "foreign" not in (tmp_path / "bundle" / "SUMMARY.md").read_text()
    assert run(monkeypatch, "verify", tmp_path / "bundle", "--replay", 3) == 0


def test_what_is_claimed_of_the_last_weights_says_so(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "evidence", work / "run", "--out", tmp_path / "bundle") == 0
    claims = (tmp_path / "bundle" / "SUMMARY.md").read_text().splitlines()
    last = [line for line in claims if "n200-last" in line]
    assert last
    assert all("with the weights of the last update" in line for line in last)
    assert not any("last update" in line for line in claims if "n200;" in line or "n200)" in line)


def test_a_bundle_of_attacks_alone_is_checked_as_far_as_it_goes(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(work / "run", tmp_path / "run")
    shutil.rmtree(copy / "certify")
    assert run(monkeypatch, "evidence", copy, "--out", tmp_path / "bundle") == 0
    assert run(monkeypatch, "verify", tmp_path / "bundle") == 0
    assert "attacks cannot be recomputed" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "bundle" / "SUMMARY.md").write_text("All is well.")
    assert run(monkeypatch, "verify", tmp_path / "bundle") == 1


def test_a_certification_of_another_model_is_drawn_again_with_that_model_alone(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = work / "run" / "certify" / "foreign.tsv"
    monkeypatch.chdir(work)
    assert run(monkeypatch, "verify", table, "--replay", 3) == 2
    assert "is about the model 'mine:net'" in capsys.readouterr().err
    assert run(monkeypatch, "verify", table, "--replay", 3, *foreign(work)) == 0


def test_a_run_whose_data_have_moved_is_drawn_again_with_these(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(work / "run", tmp_path / "run")
    config = copy / "config.yaml"
    config.write_text(config.read_text().replace("d.npz", "gone.npz"))
    table = copy / "certify" / "fixed-s0.5-n200.tsv"
    assert run(monkeypatch, "verify", table, "--replay", 3) == 2
    assert run(monkeypatch, "verify", table, "--replay", 3, "--data", work / "d.npz") == 0


def test_weights_without_a_model_are_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("verify", work / "run", "--replay", 3, "--weights", work / "net.safetensors")
    assert run(monkeypatch, *words) == 2
    assert "--weights goes with --model" in capsys.readouterr().err
