"""The study: every curve of theory near its simulation, and what the paper prints found wanting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wassermix.theory import study
from wassermix.theory.curves import curves_of, furthest


def test_theory_and_simulation_agree_within_five_standard_errors(record: dict[str, Any]) -> None:
    gaps = {name: furthest(found) for name in study.PARTS if (found := curves_of(record[name]))}
    assert len(gaps) == 10  # all but the spread of few points and the theorem, which have no right theory
    assert max(gaps.values()) <= 5, gaps


def test_each_curve_has_an_error_so_small_that_agreement_says_something(record: dict[str, Any]) -> None:
    for curve in curves_of(record):
        theory, error = np.array(curve["theory"]), np.array(curve["error"])
        assert np.all(error <= 0.1 * np.maximum(1, theory))


def test_simulated_trainings_have_the_effective_number_of_samples(record: dict[str, Any]) -> None:
    curves = record["augmented"]["shrinkage"]
    for curve in curves.values():
        np.testing.assert_allclose(curve["simulated"], curve["theory"], rtol=0.3)
    harm = curves["0.1"]
    assert harm["worst"][0] == pytest.approx(8)
    assert record["augmented"]["ratio"][int(np.argmin(harm["simulated"]))] in (4, 8, 16)
    assert harm["simulated"][-1] > 1 > harm["simulated"][-3]  # made good at 80


def test_pairing_leaves_the_mean_on_the_path_and_changes_the_variance(record: dict[str, Any]) -> None:
    along = record["along"]
    means = [along[f"mean_{name}"]["simulated"] for name in ("optimal", "random")]
    np.testing.assert_allclose(*means, atol=1e-12)
    assert along["variance_random"]["simulated"][5] < 0.55
    assert along["variance_optimal"]["simulated"][5] > 0.95


def test_the_linear_regulariser_shrinks_the_weights_and_not_the_error(record: dict[str, Any]) -> None:
    linear = record["linear"]
    length, error = (linear[key]["simulated"] for key in ("length", "error"))
    assert length[-1] < 0.3 * length[0]
    assert linear["length_printed"][-1] > 1.5 * length[-1]
    np.testing.assert_allclose(error, error[0], atol=1e-3)


def test_cross_entropy_prefers_the_constant_and_kl_does_not_in_simulation_too(record: dict[str, Any]) -> None:
    found = record["regularized"]
    for kind in ("theory", "simulated"):
        assert np.argmin(found["ce"][kind]) == 0
        assert found["scale"][int(np.argmin(found["kl"][kind]))] == pytest.approx(0.85, abs=0.15)


def test_the_theorems_bound_is_broken_wherever_its_conditions_hold(record: dict[str, Any]) -> None:
    proof = record["theorem"]
    held = np.array(proof["conditions"])
    assert held.any()
    assert np.all((np.array(proof["printed"]) > np.array(proof["simulated"]))[held])


def test_the_record_is_plain_json_with_sentences(record: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert len(record["summary"]) == 5


def test_the_study_gives_the_same_numbers_again() -> None:
    assert study.attacked(1000) == study.attacked(1000)
