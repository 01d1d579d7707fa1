"""Bad input is a sentence and exit code 2, without a traceback, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from cli.words import run

SMALL = ("data.train_size=100", "epochs=1")


def _npz(path: Path, **changes: object) -> Path:
    rng = np.random.default_rng(0)
    parts: dict[str, object] = {
        "x_train": rng.integers(0, 256, (40, 28, 28), dtype=np.uint8), "y_train": np.arange(40) % 4,
        "x_test": rng.integers(0, 256, (8, 28, 28), dtype=np.uint8), "y_test": np.arange(8) % 4,
    }  # fmt: skip
    np.savez(path, **{**parts, **changes})  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors") / "run"
    with pytest.MonkeyPatch.context() as patch:
        assert run(patch, "train", "demo", *SMALL, "--out", folder) == 0
    return folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("train", "demo", "epoch=3"), "did you mean 'epochs'"),
        (("train", "demoo"), "did you mean 'demo'"),
        (("train", "demo", "epochs"), "not of the form key=value"),
        (("train", "demo", "epochs=["), "'epochs=[' cannot be read"),
        (("train", "demo", "sigma=8/0"), "'8/0' divides by zero"),
        (("train", "demo", "device=foo"), "device 'foo' is unknown"),
        (("train", "demo", "method=none", "sigma=0.5"), "'method' has no name"),
        (("reproduce", "nothing"), "table 'nothing' is unknown"),
        (("train", "none.yaml"), "cannot be read"),
        (("train", "demo", "data=nowhere.npz"), "does not exist"),
        (("certify", "no-such-run"), "run 'no-such-run' does not exist"),
        (("report", "no-such-run"), "no-such-run"),
        (("verify", "no-such-run"), "no-such-run"),
    ],
)
def test_a_wrong_word_is_answered_with_a_sentence(
    words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *words) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "train", "demoo", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y_train": np.arange(40) % 4 + 1}, "labels run from"),
        ({"x_train": np.full((40, 28, 28), np.nan, np.float32)}, "NaN"),
        ({"x_train": np.full((40, 28, 28), 7.0, np.float32)}, "expected floats in [0,1]"),
        ({"y_train": np.zeros(40, int), "y_test": np.zeros(8, int)}, "at least two classes"),
        ({"x_test": np.zeros((0, 28, 28), np.uint8), "y_test": np.zeros(0, int)}, "empty"),
        ({"y_train": np.arange(39) % 4}, "40"),
    ],
)
def test_data_that_cannot_be_meant_are_refused_before_anything_is_written(
    changes: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    data = _npz(tmp_path / "data.npz", **changes)
    assert run(monkeypatch, "train", "demo", f"data={data}", "--out", tmp_path / "run") == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_truncated_npz_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _npz(tmp_path / "data.npz")
    data.write_bytes(data.read_bytes()[:-200])
    assert run(monkeypatch, "train", "demo", f"data={data}", "--out", tmp_path / "run") == 2
    assert "data.npz" in capsys.readouterr().err


def test_a_run_is_never_overwritten_by_accident(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (trained / "model.safetensors").read_bytes()
    assert run(monkeypatch, "train", "demo", *SMALL, "--out", trained) == 2
    assert "holds a run already" in capsys.readouterr().err
    assert (trained / "model.safetensors").read_bytes() == before


def test_a_run_is_not_resumed_with_other_settings(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", "demo", *SMALL, "optimizer.lr=0.3", "--out", trained, "--resume")
    assert run(monkeypatch, *words) == 2
    assert "other settings (optimizer)" in capsys.readouterr().err


def test_weights_of_another_architecture_are_refused(
    trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    text = (trained / "config.yaml").read_text().replace("name: lenet", "name: mlp")
    (other / "config.yaml").write_text(text)
    (other / "model.safetensors").write_bytes((trained / "model.safetensors").read_bytes())
    assert run(monkeypatch, "certify", other, "--n", 100, "--images", 2) == 2
    assert "another architecture" in capsys.readouterr().err


def test_a_model_of_ones_own_that_does_not_fit_the_data_is_refused_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "misfits.py").write_text(
        "from torch import nn\n\n\n"
        "def narrow():\n    return nn.Sequential(nn.Flatten(), nn.Linear(783, 10))\n\n\n"
        "def few():\n    return nn.Sequential(nn.Flatten(), nn.Linear(784, 3))\n\n\n"
        "def sure():\n    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.Softmax(dim=1))\n"
    )
    monkeypatch.chdir(tmp_path)
    for name, sentence in (
        ("narrow", "fails on samples of shape (1, 28, 28)"),
        ("few", "one logit for each class"),
        ("sure", "remove the model's last softmax"),
    ):
        assert run(monkeypatch, "train", "demo", f"model=misfits:{name}", "--out", tmp_path / "run") == 2
        assert sentence in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_overwriting_a_run_removes_what_was_said_of_its_old_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    assert run(monkeypatch, "train", "demo", *SMALL, "--out", folder) == 0
    assert run(monkeypatch, "certify", folder, "--n", 100, "--images", 2) == 0
    assert run(monkeypatch, "train", "demo", *SMALL, "seed=5", "--out", folder, "--overwrite") == 0
    assert not (folder / "certify").exists()


def test_an_unwritable_output_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(monkeypatch, "train", "demo", *SMALL, "--out", tmp_path / "file" / "run") == 2
    assert "cannot write" in capsys.readouterr().err


def test_a_model_trained_without_noise_needs_a_sigma(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", "demo", "method=erm", *SMALL, "--out", tmp_path / "run")
    assert run(monkeypatch, *words) == 0
    assert run(monkeypatch, "certify", tmp_path / "run") == 2
    assert "--sigma" in capsys.readouterr().err


def test_metrics_have_a_line_an_epoch_with_the_promised_numbers(trained: Path) -> None:
    (row,) = (json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines())
    promised = {
        "epoch",
        "updates",
        "passes",
        "loss",
        "accuracy",
        "seconds",
        "images_per_second",
        "peak_memory_mib",
    }
    assert promised <= row.keys()


def test_a_half_trained_model_is_judged_but_never_in_silence(
    trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "half"
    run_dir.mkdir()
    (run_dir / "config.yaml").write_bytes((trained / "config.yaml").read_bytes())
    weights = load_file(trained / "model.safetensors")
    save_file(weights, run_dir / "model.safetensors", {"trained": "0.25"})
    assert run(monkeypatch, "certify", run_dir, "--n", 100, "--images", 2) == 0
    assert "has done 25% of its training" in capsys.readouterr().out
    summary = json.loads(next((run_dir / "certify").glob("*.json")).read_text())
    assert "25% of its training" in summary["note"]
