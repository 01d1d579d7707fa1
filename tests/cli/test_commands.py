"""Each command on a small run, as a user would call it; what it writes is what design promises."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

import wassermix
from cli.words import run
from wassermix.cli.app import app


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands") / "run"
    words = ("data.train_size=1000", "data.holdout=0.1", "epochs=2", "augment=geodesic")
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "demo", *words, "--out", folder) == 0
    return folder


def test_a_run_directory_holds_what_is_promised(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert {"config.yaml", "model.safetensors", "state.pt", "metrics.jsonl", "embedding.safetensors"} <= names
    assert yaml.safe_load((trained / "config.yaml").read_text())["augment"]["ratio"] == 1.0


def test_the_config_of_a_run_trains_it_again(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "train", trained / "config.yaml", "--out", tmp_path / "again") == 0
    assert _same_weights(trained, tmp_path / "again")


def test_another_seed_gives_another_model(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "train", trained / "config.yaml", "seed=1", "--out", tmp_path / "other") == 0
    assert not _same_weights(trained, tmp_path / "other")


def _same_weights(first: Path, second: Path) -> bool:
    one, other = (load_file(folder / "model.safetensors") for folder in (first, second))
    return all(one[name].equal(other[name]) for name in one)


def test_certify_writes_a_row_an_image_that_verify_confirms(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "certify", trained, "--n", 500, "--images", 20) == 0
    header, *rows = (trained / "certify" / "fixed-s0.5-n500.tsv").read_text().splitlines()
    assert header.split("\t")[:6] == ["idx", "label", "predict", "radius", "correct", "time"]
    assert [int(row.split("\t")[0]) for row in rows] == list(range(0, 1000, 50))
    assert run(monkeypatch, "verify", trained) == 0
    assert "20 certificates, all hold" in capsys.readouterr().out


def test_verify_fails_on_a_forged_certificate(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "certify", trained, "--n", 300, "--images", 5, "--name", "true") == 0
    table, summary = ((trained / "certify" / f"true.{kind}").read_text() for kind in ("tsv", "json"))
    header, first, *rest = table.splitlines()
    cells = first.split("\t")
    cells[3] = "2.5"
    (tmp_path / "forged.tsv").write_text("\n".join([header, "\t".join(cells), *rest]) + "\n")
    (tmp_path / "forged.json").write_text(summary)
    assert run(monkeypatch, "verify", tmp_path / "forged.tsv") == 1


def test_verify_goes_on_after_a_file_that_cannot_be_verified(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "certify", trained, "--n", 300, "--images", 2, "--name", "whole") == 0
    folder = tmp_path / "run" / "certify"
    folder.mkdir(parents=True)
    for kind in ("tsv", "json"):
        (folder / f"whole.{kind}").write_bytes((trained / "certify" / f"whole.{kind}").read_bytes())
    (folder / "begun.tsv").write_bytes((folder / "whole.tsv").read_bytes())
    assert run(monkeypatch, "verify", tmp_path / "run") == 1
    shown = capsys.readouterr().out
    assert "begun.tsv: cannot be verified" in shown
    assert "2 certificates, all hold" in shown


def test_an_existing_certification_is_refused(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("certify", trained, "--n", 200, "--images", 4, "--name", "twice")
    assert [run(monkeypatch, *words), run(monkeypatch, *words)] == [0, 2]
    assert "exists" in capsys.readouterr().err
    assert run(monkeypatch, *words, "--overwrite") == 0


@pytest.mark.parametrize("mode", ["grid", "tolerance"])
def test_sequential_modes_run_and_verify(mode: str, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "certify", trained, "--mode", mode, "--n", 2000, "--images", 6) == 0
    assert run(monkeypatch, "verify", trained / "certify" / f"{mode}-s0.5-n2000.tsv") == 0


def test_attack_writes_every_parameter_and_says_that_pgd_is_an_upper_bound(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("attack", trained, "--norm", "l2", "--eps", "0.5,1.0", "--steps", 5, "--images", 30)
    assert run(monkeypatch, *words) == 0
    assert "upper bound" in capsys.readouterr().out
    weak, strong = (
        json.loads(path.read_text()) for path in sorted((trained / "attack").glob("pgd-l2-*-5.json"))
    )
    assert (weak["eps"], strong["eps"], weak["step_size"]) == (0.5, 1.0, 0.25)
    assert strong["robust"]["accuracy"] <= weak["robust"]["accuracy"] <= weak["clean"]["accuracy"]
    assert len(weak["per_image"]["robust_correct"]) == 30
    assert strong["smaller_eps"] == [0.5]
    flags = [one["per_image"]["robust_correct"] for one in (weak, strong)]
    assert all(far <= near for near, far in zip(*flags))


def test_a_dry_run_costs_and_writes_nothing(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(trained.rglob("*"))
    assert run(monkeypatch, "certify", trained, "--dry-run", "--name", "dry") == 0
    assert run(monkeypatch, "attack", trained, "--dry-run", "--name", "dry") == 0
    assert run(monkeypatch, "train", trained / "config.yaml", "--out", trained / "new", "--dry-run") == 0
    assert capsys.readouterr().out.count("minutes") == 3
    assert sorted(trained.rglob("*")) == before


def test_held_out_samples_can_be_judged_and_test_ones_spared(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("certify", trained, "--split", "holdout", "--n", 200, "--images", 5, "--name", "held")
    assert run(monkeypatch, *words) == 0


def test_audit_and_report_make_one_page(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "audit", trained, "--pairs", "3-8,4-9", "--points", 5, "--per-class", 30) == 0
    (audit,) = (json.loads(path.read_text()) for path in (trained / "audit").glob("*.json"))
    assert [(pair["source"], pair["target"]) for pair in audit["pairs"]] == [(3, 8), (4, 9)]
    three = ("audit", trained, "--classes", "3-5-8", "--points", 3, "--per-class", 20)
    assert run(monkeypatch, *three) == 0
    page = tmp_path / "report.html"
    assert run(monkeypatch, "report", trained, "--out", page) == 0
    assert "MNIST" in page.read_text()
    assert "KL between 3, 5, 8" in page.read_text()


def test_augment_writes_new_samples_with_soft_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "more.npz"
    words = ("augment", "mnist5k", "data.train_size=500", "augment.ratio=0.5", "--out", out)
    assert run(monkeypatch, *words) == 0
    made = np.load(out)
    assert made["x"].shape[1:] == (1, 28, 28)
    np.testing.assert_allclose(made["y"].sum(1), 1, atol=1e-3)


def test_a_model_of_ones_own_is_judged_without_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n\n\ndef net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))\n"
    )
    monkeypatch.chdir(tmp_path)
    words = ("--model", "mine:net", "--data", "mnist5k", "--images", 4)
    assert run(monkeypatch, "certify", "judged", *words, "--sigma", 0.25, "--n", 200) == 2  # random weights
    save_file({"1.weight": torch.randn(10, 784), "1.bias": torch.zeros(10)}, tmp_path / "net.safetensors")
    words = (*words, "--weights", "net.safetensors")
    assert run(monkeypatch, "certify", "judged", *words, "--sigma", 0.25, "--n", 200) == 0
    assert run(monkeypatch, "attack", "judged", *words, "--steps", 2) == 0
    assert (tmp_path / "judged" / "certify" / "fixed-s0.25-n200.json").exists()


@pytest.mark.parametrize("command", ["doctor", "methods"])
def test_listings_work(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, command) == 0
    assert len(capsys.readouterr().out) > 200


def test_every_command_explains_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert run(monkeypatch, command.callback.__name__, "--help") == 0
        assert len(capsys.readouterr().out) > 100


def test_public_names_are_all_there() -> None:
    assert all(getattr(wassermix, name) is not None for name in wassermix.__all__)


def test_reproduce_fills_a_table_of_ones_own_and_shows_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "mine.yaml"
    table.write_text(
        "title: mine\nrecipe: vectors\ncommon: {data: gaussians, model: mlp, epochs: 1, sigma: 0.5}\n"
        "certify: {n: 100, images: 10}\nattacks: [{attack: pgd, eps: 0.5, steps: 2, images: 10}]\n"
        "control: plain\nrows: {plain: {}, mixed: {augment: mixup}}\n"
    )
    words = ("reproduce", table, "--out", tmp_path / "runs", "--results", tmp_path / "results")
    assert run(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("plain", "mixed", "average", "against", "pgd"))
    assert json.loads((tmp_path / "results" / "mine.json").read_text())["results"].keys() == {
        "plain",
        "mixed",
    }
    assert run(monkeypatch, *words, "--scale", "huge") == 2
    assert "expected reduced" in capsys.readouterr().err
