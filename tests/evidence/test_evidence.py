"""A bundle says what it holds, and every change of it is found."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from cli.words import run
from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples
from wassermix.evidence import SampleFile, check_bundle
from wassermix.evidence.samples import write_samples

WORDS = ("vectors", "data=gaussians", "updates=20", "sigma=0.5")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The evidence of a small run, in a folder away from the run itself."""
    work = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", *WORDS, "--out", work / "run") == 0
        assert run(patch, "certify", work / "run", "--n", 500, "--images", 12) == 0
        assert run(patch, "attack", work / "run", "--norm", "l2", "--eps", 0.3, "--images", 12) == 0
        assert run(patch, "evidence", work / "run", "--out", work / "bundle") == 0
        assert run(patch, "evidence", work / "run", "--out", work / "bundle.zip") == 0
    return work / "bundle"


def test_a_bundle_is_verified_without_the_run_it_came_from(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(bundle, tmp_path / "elsewhere")
    assert run(monkeypatch, "verify", moved) == 0
    shown = capsys.readouterr().out
    assert "all as they were" in shown
    assert "12 certificates, all hold" in shown


def change_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


TAMPERS: dict[str, Callable[[Path], None]] = {
    "weights": lambda b: change_byte(b / "run" / "model.safetensors"),
    "samples": lambda b: change_byte(b / "samples.npz"),
    "settings": lambda b: (b / "run" / "config.yaml").write_text("{}"),
    "a row removed": lambda b: drop_last_line(next((b / "run" / "certify").glob("*.tsv"))),
    "a file removed": lambda b: next((b / "run" / "attack").glob("*.json")).unlink(),
    "a file added": lambda b: (b / "run" / "certify" / "better.tsv").write_text("x"),
    "the summary": lambda b: (b / "SUMMARY.md").write_text("All is well."),
}


def drop_last_line(path: Path) -> None:
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")


@pytest.mark.parametrize("name", TAMPERS)
def test_every_change_of_a_file_is_found(name: str, bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "copy")
    TAMPERS[name](copy)
    assert not check_bundle(copy).holds


def test_the_manifest_tells_versions_data_and_model(bundle: Path) -> None:
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    assert manifest["format"] == "wassermix-evidence/1"
    assert manifest["dependencies"]["torch"] == version("torch")
    assert manifest["data"] == "gaussians"
    assert len(manifest["model"]) == 16
    assert {"samples.npz", "SUMMARY.md", "README.md", "report.html"} <= manifest["files"].keys()
    assert not any("state.pt" in name for name in manifest["files"])


def test_the_summary_says_what_is_claimed_and_what_is_not(bundle: Path) -> None:
    text = (bundle / "SUMMARY.md").read_text()
    assert "is right within l2 radius 0" in text
    assert "with probability at most 0.001" in text
    assert "What is not claimed" in text


def test_the_model_card_has_a_head_that_hubs_can_read(bundle: Path) -> None:
    _, head, _ = (bundle / "README.md").read_text().split("---\n", 2)
    results = yaml.safe_load(head)["model-index"][0]["results"]
    assert {metric["type"] for one in results for metric in one["metrics"]} == {
        "certified_accuracy",
        "accuracy",
    }


def test_a_zip_holds_the_same_files(bundle: Path) -> None:
    with zipfile.ZipFile(bundle.with_suffix(".zip")) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert names == {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}


def test_evidence_is_never_written_over(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "evidence", bundle.parent / "run", "--out", bundle) == 2


def test_samples_come_back_exactly_under_their_old_numbers(tmp_path: Path) -> None:
    images = TensorSamples(torch.randint(0, 256, (9, 1, 3, 3)).float().div(255), torch.arange(9) % 3)
    vectors = TensorSamples(torch.randn(9, 4), torch.arange(9) % 3)
    for samples in (images, vectors):
        write_samples(tmp_path / "s.npz", samples, [7, 2, 5])
        back = SampleFile(tmp_path / "s.npz")
        rows = torch.tensor([5, 7])
        assert torch.equal(back.get(rows), samples.get(rows))
        assert back.y[7] == samples.y[7]
    assert np.load(tmp_path / "s.npz")["x"].dtype == np.float32
    with pytest.raises(InputError, match="does not hold sample 3"):
        back.get(torch.tensor([3]))


def test_a_manifest_below_the_bundles_own_is_a_file_like_any_other(bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bundle, tmp_path / "copy")
    (copy / "run" / "MANIFEST.json").write_text("{}")
    assert check_bundle(copy).problems == ("run/MANIFEST.json was added",)


@pytest.mark.parametrize("name", ["new", "new.zip"])
def test_a_bundle_that_fails_half_way_leaves_nothing_behind(
    name: str, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("wassermix.cli.evidence.write_report", fail)
    assert run(monkeypatch, "evidence", bundle.parent / "run", "--out", tmp_path / name) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_archive_is_there_whole_or_not_at_all(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    usual = shutil.make_archive

    def watched(*words: str, **more: Path) -> str:
        made = usual(*words, **more)  # type: ignore[arg-type]
        seen.append((tmp_path / "b.zip").exists())
        return made

    monkeypatch.setattr(shutil, "make_archive", watched)
    assert run(monkeypatch, "evidence", bundle.parent / "run", "--out", tmp_path / "b.zip") == 0
    assert seen == [False]
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


def test_a_place_that_cannot_be_written_is_a_sentence(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(monkeypatch, "evidence", bundle.parent / "run", "--out", tmp_path / "file" / "b") == 2
    assert "choose another --out" in capsys.readouterr().err
