"""Ten epochs of noise training on full MNIST certify nearly what ninety published ones do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from wassermix.certify import CertifySettings, certify_to_files
from wassermix.core.job import Output
from wassermix.core.samples import evenly_spaced
from wassermix.engine import RunDir, load_dataset, make_model, train
from wassermix.engine.settings import build_config
from wassermix.recipes import load_recipe

needs_mnist = pytest.mark.skipif(
    not (Path(os.environ.get("WASSERMIX_DATA", "/nowhere")) / "mnist").is_dir(),
    reason="no MNIST under $WASSERMIX_DATA",
)


def _certified(folder: Path, *, epochs: int, n: int, images: int) -> dict[float, float]:
    config = build_config(load_recipe("mnist/reduced/gaussian-0.5"), {"epochs": epochs})
    train(config, folder)
    data = load_dataset(config)
    model = make_model(config, data)
    RunDir(folder).load_weights(model)
    settings = CertifySettings(sigma=0.5, n=n)
    certify_to_files(
        model,
        data.test,
        evenly_spaced(len(data.test), images),
        output=Output(folder / "certify"),
        settings=settings,
    )
    (summary,) = (json.loads(path.read_text()) for path in (folder / "certify").glob("*.json"))
    return {cell["radius"]: cell["accuracy"] for cell in summary["certified"]}


@pytest.mark.long
@pytest.mark.realdata
@needs_mnist
def test_ten_epochs_certify_94_percent_at_half(tmp_path: Path) -> None:
    assert _certified(tmp_path / "run", epochs=10, n=10_000, images=500)[0.5] >= 0.94


@pytest.mark.long
@pytest.mark.realdata
@needs_mnist
def test_one_epoch_certifies_most_test_digits(tmp_path: Path) -> None:
    assert _certified(tmp_path / "run", epochs=1, n=500, images=100)[0.5] >= 0.85
