"""The listing of components, and the augmented set for a model that does not fit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.words import run
from wassermix.augment import AUGMENTERS, GeodesicAugmenter
from wassermix.geodesic import REGULARIZERS
from wassermix.methods import METHODS


def test_every_method_augmenter_and_regulariser_is_listed_with_cost_options_and_reference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "methods") == 0
    listed = capsys.readouterr().out
    entries = dict(re.findall(r"^(\w+=[\w-]+)((?:.*\n)(?: .*\n)*)", listed, flags=re.MULTILINE))
    families = {"method": METHODS, "augment": AUGMENTERS, "regularizer": REGULARIZERS}
    for name in (f"{family}={one}" for family, registry in families.items() for one in registry.shipped):
        assert re.search(r"pass(es)? (per|for)", entries[name]), name
        assert "options:" in entries[name], name
        assert "reference:" in entries[name], name
    cost = GeodesicAugmenter(10).passes
    assert f"({cost:.3g} passes" in entries["augment=geodesic"]


def test_augmenting_for_a_model_of_other_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = tmp_path / "run"
    assert run(monkeypatch, "train", "vectors", "epochs=1", "--out", trained) == 0
    out = tmp_path / "more.npz"
    assert run(monkeypatch, "augment", "mnist5k", "--run", trained, "--out", out) == 2
    assert "was trained on" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
