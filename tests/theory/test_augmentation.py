"""Augmentation of the mean estimator: the condition, its law in m, and what pairing cannot change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linear_sum_assignment, minimize_scalar

from wassermix.core.errors import InputError
from wassermix.theory.augmentation import (
    augmentation_helps,
    break_even_ratio,
    effective_samples,
    estimates,
    label_sum,
    least_shrinkage,
    mixed_both_ways,
    worst_ratio,
)
from wassermix.theory.gaussian_model import sample, score

MU = np.array([0.5, 0.3, 0.0, 0.0, -0.2])


def test_the_estimator_drawn_at_once_is_that_of_drawn_samples() -> None:
    rng, n0, count = np.random.default_rng(0), 6, 4000
    x, y = sample(MU, 1.0, n0 * count, generator=rng)
    made, sides = sample(0.4 * MU, 1.0, 2 * n0 * count, generator=rng)
    sums = (y[:, None] * x).reshape(count, n0, 5).sum(1) + (sides[:, None] * made).reshape(
        count, 2 * n0, 5
    ).sum(1)
    _, drawn = estimates(MU, 1.0, n0, ratio=2.0, shrinkage=0.4, count=count, generator=rng)
    slow = score(sums / (3 * n0), MU, 1.0)
    assert stats.ks_2samp(slow, score(drawn, MU, 1.0)).pvalue > 1e-3


@pytest.mark.parametrize(
    ("ratio", "shrinkage"), [(1.0, 0.2), (1.0, 0.6), (4.0, 0.2), (20.0, 0.2), (3.0, 1.0)]
)
def test_directions_are_those_of_the_effective_number_of_real_samples(ratio: float, shrinkage: float) -> None:
    rng, n0, count = np.random.default_rng(1), 30, 20_000
    same = effective_samples(n0, ratio, shrinkage)
    _, augmented = estimates(MU, 1.0, n0, ratio=ratio, shrinkage=shrinkage, count=count, generator=rng)
    real = MU + rng.standard_normal((count, 5)) / np.sqrt(same)  # the mean of so many real samples
    assert stats.ks_2samp(score(augmented, MU, 1.0), score(real, MU, 1.0)).pvalue > 1e-3


@pytest.mark.parametrize("ratio", [0.5, 1.0, 4.0])
def test_at_the_least_shrinkage_nothing_changes_above_it_helps_below_it_harms(ratio: float) -> None:
    def gain(shrinkage: float) -> float:
        """Mean score with augmentation less that without, in standard errors."""
        rng, count = np.random.default_rng(2), 40_000
        pair = estimates(MU, 1.0, 20, ratio=ratio, shrinkage=shrinkage, count=count, generator=rng)
        gaps = score(pair[1], MU, 1.0) - score(pair[0], MU, 1.0)
        return float(gaps.mean() / (gaps.std() / np.sqrt(count)))

    least = least_shrinkage(ratio)
    assert abs(gain(least)) < 5
    assert gain(least + 0.1) > 10
    assert gain(least - 0.1) < -10
    assert augmentation_helps(ratio, least + 1e-9)
    assert not augmentation_helps(ratio, least - 1e-9)


def test_the_condition_solves_its_equation_and_has_the_known_limits() -> None:
    for ratio in (0.1, 1.0, 7.0):
        assert (1 + least_shrinkage(ratio) * ratio) ** 2 == pytest.approx(1 + ratio)
        assert least_shrinkage(ratio) == pytest.approx((np.sqrt(1 + ratio) - 1) / ratio)
    assert least_shrinkage(1.0) == pytest.approx(np.sqrt(2) - 1)  # t <= 0.293
    assert least_shrinkage(1e-12) == pytest.approx(0.5)  # t <= 1/4 always helps
    assert least_shrinkage(1e12) < 1e-5


@pytest.mark.parametrize("shrinkage", [0.1, 0.25, 0.45])
def test_harm_is_greatest_and_gone_where_the_formulas_say(shrinkage: float) -> None:
    worst = minimize_scalar(
        lambda m: effective_samples(1.0, m, shrinkage),
        bounds=(0, 1000),
        method="bounded",
        options={"xatol": 1e-8},
    )
    assert worst_ratio(shrinkage) == pytest.approx(worst.x, rel=1e-4)
    assert worst.fun == pytest.approx(4 * shrinkage * (1 - shrinkage))
    assert worst.fun < 1
    assert effective_samples(1.0, break_even_ratio(shrinkage), shrinkage) == pytest.approx(1.0)


def test_from_a_half_on_more_is_always_better() -> None:
    assert (worst_ratio(0.5), break_even_ratio(0.7)) == (0.0, 0.0)
    grown = [effective_samples(1.0, m, 0.5) for m in (0.0, 0.5, 1.0, 5.0)]
    assert grown == sorted(grown)
    with pytest.raises(InputError, match="r = 1 - 2t"):
        worst_ratio(0.0)
    with pytest.raises(InputError, match="above 0"):
        least_shrinkage(0.0)


def test_no_pairing_changes_the_sum_that_the_theorem_sees() -> None:
    rng = np.random.default_rng(3)
    x0, x1 = rng.standard_normal((40, 3)) - 1, rng.standard_normal((40, 3)) + 1
    optimal = linear_sum_assignment(((x0[:, None] - x1) ** 2).sum(-1))[1]
    for t in (0.1, 0.3, 0.45):
        for pairing in (optimal, rng.permutation(40), optimal[::-1].copy()):
            mixed = mixed_both_ways(x0, x1, pairing, t)
            np.testing.assert_allclose(label_sum(*mixed), (1 - 2 * t) * label_sum(x0, x1), atol=1e-9)


def test_the_spread_does_tell_pairings_apart_so_the_data_differ_where_the_sum_does_not() -> None:
    rng = np.random.default_rng(4)
    x0, x1 = rng.standard_normal((200, 2)) - 1, rng.standard_normal((200, 2)) + 1
    optimal = linear_sum_assignment(((x0[:, None] - x1) ** 2).sum(-1))[1]
    wide, narrow = (
        mixed_both_ways(x0, x1, p, 0.5)[0].var(axis=0).sum() for p in (optimal, rng.permutation(200))
    )
    assert wide > 1.6 * narrow
