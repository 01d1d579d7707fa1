"""The study of geometries: every case measured, and the blur of entropic plans between its two limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from wassermix.core.samples import TensorSamples
from wassermix.embed import Standard
from wassermix.experiments import geometries


def test_every_data_set_gets_a_sentence_for_each_embedding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    small = TensorSamples(x, torch.arange(40) % 2)
    monkeypatch.setattr(geometries, "_cases", lambda: {"small": (small, [("standard", Standard())])})
    monkeypatch.setattr(geometries, "blur", dict)
    record = geometries.run(tmp_path, lambda what, share: None)
    assert [row["pair_size"] for row in record["data"]["small"]] == [16, 20]
    (line,) = record["summary"]
    assert line.startswith("small, standard (2 dimensions): pairing can")
    json.dumps(record, allow_nan=False)


def test_entropy_leads_from_the_exact_image_to_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometries, "PROBLEMS", 2)
    monkeypatch.setattr(geometries, "ENTROPIES", (1.0, 0.02, 0.005))
    found = geometries.blur()
    images = [found[name]["image"] for name in ("entropy 1", "entropy 0.02", "entropy 0.005", "exact")]
    assert images == sorted(images)
    assert images[0] < 0.05
    assert images[-1] == pytest.approx(1.0)  # a permutation of the target
    assert found["random"]["spread"] < found["entropy 0.005"]["spread"] < found["exact"]["spread"]
