"""Killed at any moment, the same command with --resume ends as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from cli.words import kill_when, lines, run

SETTINGS = (
    "data.train_size=200", "epochs=6", "augment=geodesic", "augment.refresh=2", "regularizer=geodesic",
    "batch_size=32",
)  # fmt: skip


def _rows(run_folder: Path) -> list[dict[str, object]]:
    rows = [json.loads(line) for line in (run_folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if k in ("epoch", "updates", "loss", "accuracy")} for row in rows]


@pytest.mark.slow
def test_a_training_killed_three_times_ends_with_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert run(monkeypatch, "train", "demo", *SETTINGS, "--out", straight) == 0

    again = ("train", "demo", *SETTINGS, "--out", killed, "--resume")
    kill_when((killed / "config.yaml").exists, *again)
    kill_when(lambda: lines(killed / "metrics.jsonl") >= 1, *again)
    kill_when(lambda: lines(killed / "metrics.jsonl") >= 4, *again, delay=0.05)
    assert run(monkeypatch, *again) == 0

    expected, got = load_file(straight / "model.safetensors"), load_file(killed / "model.safetensors")
    assert expected.keys() == got.keys()
    assert all(expected[name].equal(got[name]) for name in expected)
    assert _rows(straight) == _rows(killed)


@pytest.mark.slow
def test_certificates_of_a_killed_certification_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    words = ("certify", folder, "--n", 1200, "--images", 40)
    assert run(monkeypatch, "train", "demo", "data.train_size=600", "epochs=1", "--out", folder) == 0
    assert run(monkeypatch, *words, "--name", "straight") == 0

    table = folder / "certify" / "killed.tsv"
    again = (*words, "--name", "killed", "--resume")
    kill_when(table.exists, *again)
    kill_when(lambda: lines(table) >= 8, *again)
    kill_when(lambda: lines(table) >= 20, *again)
    assert run(monkeypatch, *again) == 0
    assert _certificates(table) == _certificates(folder / "certify" / "straight.tsv")
    assert run(monkeypatch, "verify", folder) == 0


def _certificates(table: Path) -> list[list[str]]:
    header, *rows = (line.split("\t") for line in table.read_text().splitlines())
    time = header.index("time")
    return [[cell for i, cell in enumerate(row) if i != time] for row in rows]
