"""``wassermix geometry``: a table, a sentence for each embedding, a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.words import run

QUICK = ("geometry", "gaussians", "data.dim=3", "data.classes=3", "--problems", 2, "--pair-size", "8,16")


def test_it_prints_a_sentence_and_writes_every_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "geometry.json"
    assert run(monkeypatch, *QUICK, "--embed", "standard,pca:2", "--out", out) == 0
    shown = capsys.readouterr().out
    record = json.loads(out.read_text())
    assert all(sentence in shown for sentence in record["sentences"])
    assert [(row["embed"], row["dim"], row["pair_size"]) for row in record["rows"]] == [
        ("standard", 3, 8), ("standard", 3, 16), ("pca:2", 2, 8), ("pca:2", 2, 16),
    ]  # fmt: skip
    assert record["settings"]["problems"] == 2
    assert (record["classes"], record["shape"]) == (3, [3])
    assert set(record["rows"][0]["intrusion"]) == {"exact", "random", "difference", "error"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("epochs=3",), "key 'epochs' is not about data"),
        (("--embed", "pcaa"), "did you mean 'pca'?"),
        (("--embed", "pixel:3"), "pca or vae with a size"),
        (("--out", "."), "exists"),
    ],
)
def test_words_that_are_off_are_refused(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *QUICK, *words) == 2
    assert message in " ".join(capsys.readouterr().err.split())
