"""The distribution of p_A: counts into shares, a band that covers the truth, and two curves that cross."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wassermix.certify import Certificates, CertifySettings
from wassermix.certify.pa import crossing, distribution, label_probabilities
from wassermix.certify.result import Certificate


def _counted(
    hits: list[int], draws: int, *, mode: str = "fixed", predicted: list[int] | None = None
) -> Certificates:
    rows = [
        Certificate(i, 0, (predicted or [0] * len(hits))[i], 0.1, draws, count, mode)
        for i, count in enumerate(hits)
    ]
    return Certificates.of(rows, CertifySettings(sigma=0.5, mode=mode, n=draws))


def test_the_share_counts_images_at_or_above_each_level() -> None:
    rows = distribution(_counted([400, 900, 990, 1000], 1000), (0.5, 0.9, 0.99))
    assert [row.share for row in rows] == [0.75, 0.75, 0.5]
    assert rows[1].radius == pytest.approx(0.5 * stats.norm.ppf(0.9))
    assert all(row.low <= row.share <= row.high for row in rows)


def test_a_wrong_class_says_only_that_the_label_has_the_rest() -> None:
    estimate, low, high = label_probabilities(_counted([900, 900], 1000, predicted=[0, 3]))
    assert estimate.tolist() == [0.9, 0.0]
    assert low[1] == 0
    assert high[1] == pytest.approx(1 - stats.beta.ppf(0.001, 900, 101))


@pytest.mark.parametrize("mode", ["fixed", "grid"])
def test_the_band_covers_the_true_distribution_at_every_level(mode: str) -> None:
    rng, levels = np.random.default_rng(0), np.linspace(0.05, 0.95, 19)
    missed = 0
    for _ in range(40):
        truth = rng.beta(4, 1, size=80)
        rows = distribution(_counted(rng.binomial(300, truth).tolist(), 300, mode=mode), levels.tolist())
        inside = [row.low <= stats.beta.sf(row.p, 4, 1) <= row.high for row in rows]
        missed += not all(inside)
    assert missed <= 4  # of 40 bands at 95%: two are expected, at the very most


def test_the_band_narrows_as_the_square_root_of_the_images() -> None:
    few, many = (distribution(_counted([500] * count, 1000), (0.9,))[0].high for count in (100, 400))
    assert (few - 0.001) / (many - 0.001) == pytest.approx(2.0)
    assert few == pytest.approx(math.sqrt(math.log(40) / 200) + 0.001)


def test_a_lead_in_radius_that_costs_hard_images_is_said() -> None:
    first, second = np.arange(500) < 400, np.arange(500) < 450
    said = crossing(("a", "b"), (1.8, 1.7), (first, second), p=0.5)
    assert said is not None
    assert "a has the larger average radius (1.800 against 1.700)" in said
    assert "80.0% against 90.0% of b" in said
    assert crossing(("a", "b"), (1.6, 1.7), (first, second), p=0.5) is None  # b leads in both
    assert crossing(("a", "b"), (1.8, 1.7), (first, np.arange(500) < 401), p=0.5) is None  # by chance
