"""The study: every curve of theory near its simulation, and what the paper prints found wanting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wassermix.theory import study


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SAMPLES", 20_000)
        return study.run(tmp_path_factory.mktemp("theory"), lambda what, share: None)


def _curves(value: Any) -> list[dict[str, list[float]]]:
    """All parts of a record that hold theory beside simulation."""
    if not isinstance(value, dict):
        return []
    own = [value] if {"theory", "simulated"} <= value.keys() else []
    return own + [curve for part in value.values() for curve in _curves(part)]


def test_theory_and_simulation_agree_within_five_standard_errors(record: dict[str, Any]) -> None:
    curves = [curve for curve in _curves(record) if "error" in curve]
    assert len(curves) == 8
    for curve in curves:
        theory = np.array(curve["theory"])
        error = np.sqrt(np.maximum(theory * (1 - theory), 1 / 20_000) / 20_000)
        assert np.abs(theory - curve["simulated"]).max() <= 5 * error.max()


def test_simulated_trainings_have_the_effective_number_of_samples(record: dict[str, Any]) -> None:
    curves = list(record["augmented"]["shrinkage"].values())
    assert len(curves) == 4
    for curve in curves:
        np.testing.assert_allclose(curve["simulated"], curve["theory"], rtol=0.15)


def test_the_theorems_bound_is_broken_wherever_its_conditions_hold(record: dict[str, Any]) -> None:
    proof = record["theorem"]
    held = np.array(proof["conditions"])
    assert held.any()
    assert np.all((np.array(proof["printed"]) > np.array(proof["simulated"]))[held])


def test_the_record_is_plain_json_with_sentences(record: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert len(record["summary"]) == 3


def test_the_study_gives_the_same_numbers_again() -> None:
    assert study.attacked() == study.attacked()
