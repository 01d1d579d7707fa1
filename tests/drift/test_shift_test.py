"""The two-sample test keeps its level, finds a shift, and its distance is the sliced W2."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from drift.problems import rng
from wassermix.core.samples import TensorSamples
from wassermix.drift.shift_test import _quantiles, shift_tests, two_sample_test
from wassermix.drift.views import Looker


def test_false_alarms_stay_at_the_level() -> None:
    values = [
        two_sample_test(a, b, space="input", permutations=19, rng=rng(seed)).p_value
        for seed in range(100)
        for a, b in [(rng(seed).normal(size=(40, 3)), rng(1000 + seed).normal(size=(25, 3)))]
    ]
    assert np.mean(np.array(values) <= 0.1) <= 0.1 + 4 * np.sqrt(0.09 / 100)
    assert np.mean(values) == pytest.approx(0.5, abs=0.1)


def test_a_shift_is_found() -> None:
    found = two_sample_test(
        rng(0).normal(size=(80, 3)),
        rng(1).normal(size=(60, 3)) + 1,
        space="input",
        permutations=99,
        rng=rng(2),
    )
    assert found.p_value == pytest.approx(0.01)


def test_a_change_of_spread_alone_is_found() -> None:
    found = two_sample_test(
        rng(0).normal(size=(150, 3)),
        2 * rng(1).normal(size=(150, 3)),
        space="input",
        permutations=99,
        rng=rng(2),
    )
    assert found.p_value <= 0.05


def test_in_one_dimension_a_translation_is_its_own_distance() -> None:
    x = rng(0).normal(size=(64, 1))
    found = two_sample_test(x, x + 0.7, space="input", permutations=9, rng=rng(1))
    assert found.distance * x.std() == pytest.approx(0.7, rel=1e-6)


def test_quantiles_are_numpys() -> None:
    rows = np.sort(rng(0).normal(size=(2, 100)), axis=1)
    levels = (np.arange(64) + 0.5) / 64
    assert _quantiles(rows) == pytest.approx(np.quantile(rows, levels, axis=1, method="hazen").T)


def test_classes_that_alternate_in_the_file_are_both_held() -> None:
    """Every second row would be one class, and the test would find a shift where there is none."""
    y = torch.arange(400) % 2
    x = torch.randn(400, 4, generator=torch.Generator().manual_seed(0)) + 6.0 * y[:, None]
    looker = Looker(lambda x: x[:, :2])
    looker.fit(TensorSamples(x, y))
    assert looker.held is not None
    first = looker.held.inputs[:, 0]
    assert 0.35 < np.mean(first > first.mean()) < 0.65
    assert first.std() > 1.5


def test_components_fitted_on_the_reference_do_not_raise_false_alarms() -> None:
    """Sixty dimensions, forty samples to fit on: the leading components suit those samples far too well."""

    def drawn(seed: int, count: int) -> TensorSamples:
        x = torch.randn(count, 60, generator=torch.Generator().manual_seed(seed))
        return TensorSamples(x, torch.zeros(count, dtype=torch.int64))

    found = []
    for seed in range(40):
        looker = Looker(lambda x: x[:, :3], components=8)
        looker.fit(drawn(seed, 80))
        spaces = looker.look_twice(drawn(1000 + seed, 60))[1]
        assert looker.held is not None
        found += [
            test.p_value
            for test in shift_tests(looker.held, spaces, permutations=19, rngs=lambda _, s=seed: rng(s))
        ]
    assert np.mean(np.array(found) <= 0.1) <= 0.1 + 4 * np.sqrt(0.09 / 40)
