"""A bundle is drawn again where neither the run nor its data set exist."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from cli.words import run
from evidence.clouds import save_clouds
from wassermix.evidence.manifest import hashes_of


@pytest.fixture(scope="module")
def handed_over(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bundles with and without samples; the run is gone, and its data lie where nobody looks for them."""
    work = tmp_path_factory.mktemp("work")
    save_clouds(work / "d.npz")
    with pytest.MonkeyPatch.context() as patch:
        words = (f"data={work / 'd.npz'}", "model=mlp", "updates=20", "data.holdout=0.2")
        assert run(patch, "train", "vectors", *words, "--out", work / "run") == 0
        certify = ("certify", work / "run", "--n", 300, "--images", 10, "--sigma", 0.5)
        assert run(patch, *certify) == 0
        assert run(patch, "evidence", work / "run", "--out", work / "whole") == 0
        assert run(patch, "evidence", work / "run", "--out", work / "whole.zip") == 0
        assert run(patch, "evidence", work / "run", "--out", work / "bare", "--no-samples") == 0
        assert run(patch, *certify, "--split", "holdout", "--name", "held-out") == 0
        assert run(patch, "evidence", work / "run", "--out", work / "two") == 0
    shutil.rmtree(work / "run")
    (work / "d.npz").rename(work / "moved.npz")
    return work


@pytest.mark.parametrize("name", ["whole", "whole.zip"])
def test_a_bundle_is_drawn_again_with_its_own_samples(
    name: str, handed_over: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", handed_over / name, "--replay", 10) == 0
    said = capsys.readouterr().out
    assert "all as they were" in said
    assert "10 of 10 images drawn again, count for count" in said


def test_without_samples_the_data_set_is_asked_for_and_taken(
    handed_over: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = handed_over / "bare"
    assert run(monkeypatch, "verify", bare) == 0
    assert run(monkeypatch, "verify", bare, "--replay", 3) == 2
    said = capsys.readouterr().err
    assert "holds no samples" in said
    assert "--data" in said
    assert run(monkeypatch, "verify", bare, "--replay", 3, "--data", handed_over / "moved.npz") == 0


def test_other_weights_are_found_though_all_hashes_fit(
    handed_over: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = shutil.copytree(handed_over / "whole", tmp_path / "forged")
    weights = load_file(forged / "run" / "model.safetensors")
    name = next(key for key in weights if key.endswith("bias"))
    save_file({**weights, name: weights[name] + 0.01}, forged / "run" / "model.safetensors")
    manifest = json.loads((forged / "MANIFEST.json").read_text())
    (forged / "MANIFEST.json").write_text(json.dumps({**manifest, "files": hashes_of(forged)}))
    assert run(monkeypatch, "verify", forged) == 0
    assert run(monkeypatch, "verify", forged, "--replay", 1) == 1
    assert "other weights were certified" in capsys.readouterr().out


def test_certificates_of_a_split_that_the_bundle_lacks_are_not_in_it(
    handed_over: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", handed_over / "two", "--replay", 2) == 0
    said = capsys.readouterr().out
    assert "held-out" not in said
    assert "2 of 10 images drawn again, count for count" in said


def test_an_archive_is_called_by_its_own_name(
    handed_over: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = handed_over / "whole.zip"
    assert run(monkeypatch, "verify", archive, "--replay", 1, "--json") == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["bundle"]["folder"] == archive.as_posix()
    assert [one["file"] for one in found["files"]] == [
        (archive / "run" / "certify" / "fixed-s0.5-n300.tsv").as_posix()
    ]
    assert "/tmp" not in shown.err.replace(str(handed_over), "")


DAMAGES = {
    "no archive": lambda data: b"no archive",
    "cut short": lambda data: data[: len(data) // 2],
    "other bytes": lambda data: data[:60] + bytes(60) + data[120:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_samples_are_a_sentence(
    damage: str, handed_over: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    copy = shutil.copytree(handed_over / "whole", tmp_path / "copy")
    samples = copy / "samples.npz"
    samples.write_bytes(DAMAGES[damage](samples.read_bytes()))
    assert run(monkeypatch, "verify", copy, "--replay", 1) == 2
    assert "the bundle is damaged" in capsys.readouterr().err


def test_an_archive_with_a_password_is_a_sentence(
    handed_over: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray((handed_over / "whole.zip").read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of every entry: encrypted
        at = data.find(mark)
        while at >= 0:
            data[at + place] |= 1
            at = data.find(mark, at + 4)
    (tmp_path / "b.zip").write_bytes(bytes(data))
    assert run(monkeypatch, "verify", tmp_path / "b.zip") == 2
    assert "cannot be unpacked" in capsys.readouterr().err


def test_a_broken_archive_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.zip").write_text("no archive")
    assert run(monkeypatch, "verify", tmp_path / "b.zip") == 2
