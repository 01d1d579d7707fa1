"""The rehearsal: known shifts of the reference tell which estimator suits a model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from drift.problems import Corners, classes
from wassermix.core.samples import TensorSamples
from wassermix.drift.prepared import prepare
from wassermix.drift.rehearsal import CANDIDATES, Rehearsal, rehearse
from wassermix.drift.settings import DriftSettings


def test_another_candidate_is_taken_only_where_it_is_clearly_better() -> None:
    ours = [0.10, 0.12, 0.08, 0.11]
    assert Rehearsal({"joint": ours, "other": [0.02, 0.03, 0.01, 0.02]}).chosen == "other"
    assert Rehearsal({"joint": ours, "other": [0.30, 0.01, 0.07, 0.01]}).chosen == "joint"
    assert Rehearsal({"joint": ours, "other": [0.2, 0.2, 0.2, 0.2]}).chosen == "joint"


def test_of_several_that_are_better_the_best_is_taken() -> None:
    errors = {"joint": [0.10, 0.11], "second": [0.05, 0.06], "third": [0.01, 0.02]}
    assert Rehearsal(errors).chosen == "third"


def test_a_rehearsal_repeats_itself_and_says_what_it_chose() -> None:
    known = TensorSamples(*classes(200, seed=0))
    first = prepare(Corners(), known, DriftSettings())
    again = rehearse(first.looker, first.samples, first.reference)
    assert first.rehearsal is not None
    assert list(first.rehearsal.errors) == list(CANDIDATES)
    for name in CANDIDATES:
        assert first.rehearsal.errors[name] == pytest.approx(again.errors[name])
        assert len(again.errors[name]) == 6  # two kinds of a table's shifts at three strengths
    assert first.lead == again.chosen
    assert f"estimator {again.chosen}: chosen by rehearsal, 6 known shifts" in again.words()


def test_its_errors_are_those_of_the_estimators_on_the_shifted_half() -> None:
    """A model that is always right and a plan that finds it out: an error of 0 under mild shifts."""
    far = torch.tensor([[9.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 9.0, 0]])
    y = torch.arange(120) % 3
    x = far[y] + 0.1 * torch.randn(120, 4, generator=torch.Generator().manual_seed(0))

    def right(samples: Tensor) -> Tensor:
        return -torch.cdist(samples, far)

    found = rehearse_of(right, TensorSamples(x, y))
    assert min(found.errors["joint"]) == pytest.approx(0.0, abs=0.02)


def rehearse_of(model: object, samples: TensorSamples) -> Rehearsal:
    prepared = prepare(model, samples, DriftSettings())  # type: ignore[arg-type]
    assert prepared.rehearsal is not None
    return prepared.rehearsal


def test_samples_of_other_shapes_have_no_rehearsal() -> None:
    x = torch.randn(60, 3, 5, generator=torch.Generator().manual_seed(0))
    y = torch.arange(60) % 3
    found = rehearse_of(lambda samples: samples.mean(dim=2), TensorSamples(x, y))
    assert found.chosen == CANDIDATES[0]
    assert "no rehearsal" in found.words()
    assert np.size(found.errors[CANDIDATES[0]]) == 0
