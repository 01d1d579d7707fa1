"""``certify --shard`` and ``merge`` as a job array calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.words import run


def test_shards_are_merged_into_what_the_plain_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run(monkeypatch, "train", "vectors", "data=gaussians", "updates=5", "--out", folder) == 0
    words = ("certify", folder, "--n", 300, "--images", 9, "--sigma", 0.5)
    assert run(monkeypatch, *words, "--name", "plain") == 0
    assert run(monkeypatch, *words, "--name", "parts", "--shard", "2/2") == 0
    assert run(monkeypatch, "merge", folder) == 2
    assert "shard 1/2 is missing" in capsys.readouterr().err
    assert run(monkeypatch, *words, "--name", "parts", "--shard", "1/2") == 0
    assert f"`wassermix merge {folder} --name parts`" in capsys.readouterr().out
    assert run(monkeypatch, "merge", folder) == 0
    assert _certificates(folder, "parts") == _certificates(folder, "plain")
    assert run(monkeypatch, "verify", folder) == 0


def _certificates(folder: Path, name: str) -> list[list[str]]:
    header, *rows = (
        line.split("\t") for line in (folder / "certify" / f"{name}.tsv").read_text().split("\n")
    )
    time = header.index("time")
    return [[cell for i, cell in enumerate(row) if i != time] for row in rows]
