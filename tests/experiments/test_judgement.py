"""What a table asks of its networks is checked before the first of them trains."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.embed import PCA, save_embedding
from wassermix.experiments import Table, check_table, gather, load_table, run_table

SMALL = """
title: "One row on Gaussians"
recipe: vectors
common: {data: gaussians, data.classes: 3, data.dim: 3, model: mlp, "model.hidden": [], epochs: 1, sigma: 0.5}
certify: {n: 200, images: 20}
attacks: [ATTACKS]
audit: {points: 3, per_class: 10, MORE}
control: plain
rows: {plain: {}}
"""
PGD = "{attack: pgd, norm: l2, eps: 0.5, steps: 2, images: 20}"


def own_table(
    folder: Path, *, attacks: str = PGD, audit: str = "pairs: all", certify: str = "n: 200"
) -> Table:
    text = SMALL.replace("ATTACKS", attacks).replace("MORE", audit).replace("n: 200", certify)
    (folder / "own.yaml").write_text(text)
    return load_table(str(folder / "own.yaml"))


@pytest.mark.parametrize(
    ("audit", "message"),
    [
        ("pairing: both", "audit: pairing is 'both'.* expected exact, entropic or random; .*two tables"),
        ("classes: 0-1-2", "audit: classes is '0-1-2'.* leave classes out"),
        ("pairs: 0-7", "audit: pairs has '0-7'; expected 2 classes"),
        ("embed: missing.safetensors", "audit.embed: 'missing.safetensors' cannot be read"),
    ],
)
def test_an_audit_that_a_table_cannot_make_is_refused_before_training(
    audit: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"row 'plain': {message}"):
        run_table(own_table(tmp_path, audit=audit), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_an_embedding_of_other_samples_is_refused(tmp_path: Path) -> None:
    save_embedding(PCA(2).fit(torch.rand(20, 5)), tmp_path / "embedding.safetensors")
    table = own_table(tmp_path, audit=f"embed: {tmp_path / 'embedding.safetensors'}")
    with pytest.raises(InputError, match=r"fitted on samples of shape \(5,\), but the table's have \(3,\)"):
        check_table(table)


def test_noise_of_a_training_that_had_none_is_refused(tmp_path: Path) -> None:
    table = own_table(tmp_path, audit="sigma: run")
    bare = {**table.common, "method": "erm"}
    del bare["sigma"]
    with pytest.raises(InputError, match="sigma is 'run', but no run that trained with noise"):
        check_table(table.model_copy(update={"common": bare, "certify": None}))


@pytest.mark.parametrize(
    ("attacks", "message"),
    [
        (f"{PGD}, {PGD.replace('steps', 'loss: margin, steps')}", "two of them .* 'pgd-l2-0.5-2.json'"),
        ("{attack: pgd, images: 0}", "images is 0; expected at least 1"),
        ("{attack: smoothed, sigma: 0}", "sigma is 0.0; a smoothed classifier needs noise"),
        ("{attack: autoattack}", "autoattack: inputs need bounds"),
    ],
)
def test_attacks_that_a_table_cannot_make_are_refused_before_training(
    attacks: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"row 'plain': .*{message}"):
        run_table(own_table(tmp_path, attacks=attacks), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("wrong", ["n: 200, mode: gird", "n: 200, sampler: other"])
def test_certificates_of_an_unknown_kind_are_refused(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gird|sampler"):
        check_table(own_table(tmp_path, certify=wrong))


def test_an_l2_radius_that_holds_every_image_is_refused_before_training() -> None:
    table = load_table("paper-table-1")
    wide = {"norm": "l2", "eps": 29.0, "steps": 4}
    raw = {**table.model_dump(), "attacks": [wide], "common": {"data": "mnist5k"}, "tests": []}
    with pytest.raises(InputError, match="lie at most 28 apart"):
        check_table(Table.model_validate(raw), ["erm"])


def test_autoattack_without_its_package_is_refused_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyautoattack", None)
    table = load_table("paper-table-1")
    common = {"data": "mnist5k"}
    attacks = [{"attack": "autoattack", "norm": "l2", "eps": 1.0}]
    raw = {**table.model_dump(), "attacks": attacks, "common": common, "tests": []}
    with pytest.raises(InputError, match="pip install pyautoattack"):
        check_table(Table.model_validate(raw), ["erm"])


def test_vectors_have_no_scale_and_two_walks_in_one_wide_ball_stand_in_one_table(tmp_path: Path) -> None:
    wide = "attack: pgd, norm: linf, eps: 2, steps: 4, images: 20"
    paper = f"{{{wide}, step_size: 1.0, random_start: false}}"
    table = own_table(tmp_path, attacks=f"{{{wide}}}, {paper}", audit="pairs: 0-1")
    run_table(table, tmp_path / "runs")
    row = gather(table, tmp_path / "runs", name="own")["results"]["plain"]
    assert [attack["eps"] for attack in row["attacks"]] == [2.0, 2.0]
    files = {path.stem for path in (tmp_path / "runs/plain/seed0/attack").glob("*.json")}
    assert files == {"pgd-linf-2-4", "pgd-linf-2-4-step-1-from-x"}


def test_an_attack_says_its_own_noise_also_where_it_is_none(tmp_path: Path) -> None:
    table = own_table(tmp_path, attacks=f"{PGD}, {PGD.replace('attack', 'sigma: 0, attack')}")
    assert [one.sigma for one in table.attack_settings(table.config("plain", 0))] == [0.5, 0.0]
