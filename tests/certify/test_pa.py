"""The distribution of p_A: counts into shares, and a band that covers the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wassermix.certify import Certificates, CertifySettings
from wassermix.certify.pa import distribution, label_probabilities
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


def test_an_abstention_that_picked_its_class_may_have_counted_another_than_the_label() -> None:
    estimate, low, high = label_probabilities(_counted([520, 480], 1000, predicted=[-1, -1]))
    assert estimate.tolist() == [0.48, 0.48]
    assert low.tolist() == [0, 0]
    upper = 1 - stats.beta.ppf(0.001, 480, 521)  # of 520 hits; of 480 misses just so
    assert high == pytest.approx([upper, upper])


def test_an_abstention_that_counted_the_label_has_the_labels_share() -> None:
    estimate, low, high = label_probabilities(_counted([520], 1000, mode="grid", predicted=[-1]))
    assert estimate.tolist() == [0.52]
    assert 0 < low[0] < 0.52 < high[0]


def test_no_image_is_said_to_be_right_where_the_label_never_has_half_of_the_votes() -> None:
    rng, votes = np.random.default_rng(0), 0.48  # of the label; a second class has all the others
    counted = np.where(rng.binomial(100, votes, size=200) > 50, votes, 1 - votes)  # what n0 draws picked
    rows = _counted(rng.binomial(1000, counted).tolist(), 1000, predicted=[-1] * 200)
    (half,) = distribution(rows, (0.5,))
    assert half.share <= 0.03  # counts of exactly 500 remain
    assert half.low == 0


@pytest.mark.parametrize("votes", [0.4, 0.49, 0.51])
def test_the_bounds_of_abstentions_hold_whichever_class_was_counted(votes: float) -> None:
    rng = np.random.default_rng(1)
    for counted in (votes, 1 - votes):
        hits = rng.binomial(1000, counted, size=500).tolist()
        _, low, high = label_probabilities(_counted(hits, 1000, predicted=[-1] * 500))
        assert np.mean((low <= votes) & (votes <= high)) >= 0.99
