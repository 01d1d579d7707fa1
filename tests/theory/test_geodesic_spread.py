"""Spread along the path: against POT's plans and drawn pairs."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from wassermix.theory.geodesic_spread import (
    blurred_covariance,
    entropic_correlation,
    matched_correlation,
    optimal_covariance,
    random_covariance,
    spread_of_pairs,
)


def _matched(x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """The partner of each row of ``x0`` under POT's exact plan."""
    plan = ot.emd(ot.unif(len(x0)), ot.unif(len(x1)), ot.dist(x0, x1))
    return x1[plan.argmax(axis=1)]


def test_equal_covariances_stay_as_they_are_under_optimal_pairs_and_halve_under_random_ones() -> None:
    cov = np.array([[2.0, 0.3], [0.3, 0.5]])
    for t in (0.0, 0.25, 0.5, 0.9):
        np.testing.assert_allclose(optimal_covariance(cov, cov, t), cov, atol=1e-12)
        np.testing.assert_allclose(random_covariance(cov, cov, t), (1 - 2 * t * (1 - t)) * cov, atol=1e-12)


def test_covariances_at_t_are_those_of_pots_exact_plan_between_samples_on_the_line() -> None:
    rng, t = np.random.default_rng(0), 0.4
    x0, x1 = 0.5 * rng.standard_normal((800, 1)), 3 + 2 * rng.standard_normal((800, 1))
    ends = np.cov(x0.T).reshape(1, 1), np.cov(x1.T).reshape(1, 1)
    matched, strangers = ((1 - t) * x0 + t * x for x in (_matched(x0, x1), x1))
    assert matched.var() == pytest.approx(optimal_covariance(*ends, t)[0, 0], rel=0.02)
    assert strangers.var() == pytest.approx(random_covariance(*ends, t)[0, 0], rel=0.1)
    known = optimal_covariance(np.array([[0.25]]), np.array([[4.0]]), t)
    assert known[0, 0] == pytest.approx((0.6 * 0.5 + 0.4 * 2.0) ** 2)


def test_the_spread_of_pairs_is_one_for_translates_and_a_half_for_strangers() -> None:
    rng = np.random.default_rng(1)
    x0, x1 = rng.standard_normal((5000, 6)), rng.standard_normal((5000, 6)) + 2
    assert spread_of_pairs(x0, x0 + 2, 0.5) == pytest.approx(1.0)
    assert spread_of_pairs(x0, x1, 0.5) == pytest.approx(0.5, abs=0.02)
    assert spread_of_pairs(x0, x1, 0.3) == pytest.approx(1 - 2 * 0.3 * 0.7, abs=0.02)


def test_the_spread_half_way_is_the_correlation_of_partners() -> None:
    rng = np.random.default_rng(2)
    x0, x1 = rng.standard_normal((300, 4)), rng.standard_normal((300, 4))
    x1 *= np.sqrt(x0.var(axis=0).sum() / x1.var(axis=0).sum())
    pairs = (x0, _matched(x0, x1))
    assert spread_of_pairs(*pairs, 0.5) == pytest.approx((1 + matched_correlation(*pairs)) / 2)


def test_few_points_in_many_dimensions_have_no_near_partner() -> None:
    rng = np.random.default_rng(3)
    found = []
    for dim in (1, 8, 64):
        x0, x1 = rng.standard_normal((64, dim)), rng.standard_normal((64, dim))
        found.append(spread_of_pairs(x0, _matched(x0, x1), 0.5))
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[2] < 0.65


@pytest.mark.parametrize("entropy", [0.2, 1.0, 4.0])
def test_the_entropic_plan_has_the_correlation_that_pots_sinkhorn_finds(entropy: float) -> None:
    sigma, grid = 0.8, np.linspace(-4, 4, 161)
    weights = np.exp(-(grid**2) / (2 * sigma**2))
    weights /= weights.sum()
    cost = (grid[:, None] - grid) ** 2  # a translation adds nothing that the marginals do not fix
    plan = ot.sinkhorn(weights, weights, cost, entropy, stopThr=1e-12, numItermax=20_000)
    correlation = grid @ plan @ grid / sigma**2
    assert entropic_correlation(sigma, entropy) == pytest.approx(correlation, abs=2e-4)
    image = plan @ grid / weights
    half = weights @ (0.5 * grid + 0.5 * image) ** 2
    assert blurred_covariance(sigma, entropy, 0.5) == pytest.approx(half, abs=2e-4)


def test_entropy_leads_from_the_optimal_map_to_the_targets_mean() -> None:
    assert entropic_correlation(1.0, 0.0) == 1.0
    assert entropic_correlation(1.0, 1e9) < 1e-8
    assert blurred_covariance(1.0, 0.0, 0.5) == 1.0
    assert blurred_covariance(1.0, 1e12, 0.5) == pytest.approx(0.25)
