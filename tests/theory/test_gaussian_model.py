"""Errors of linear classifiers on two Gaussians: against drawn samples, within five standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wassermix.core.errors import InputError
from wassermix.theory.gaussian_model import (
    certified_accuracy,
    certified_accuracy_of_draws,
    l2_error,
    linf_bound,
    linf_error,
    sample,
    score,
    smoothed_error,
    standard_error,
)

MU, THETA, SIGMA = np.array([1.2, 0.8, 0.0, -0.4]), np.array([1.0, 1.0, 0.3, -0.2]), 1.3
COUNT = 200_000


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray]:
    return sample(MU, SIGMA, COUNT, generator=np.random.default_rng(0))


def agrees(share: float, truth: float, count: int = COUNT) -> bool:
    """Whether a simulated share is within five standard errors of ``truth``."""
    return abs(share - truth) <= 5 * np.sqrt(truth * (1 - truth) / count)


def test_samples_have_the_models_means_and_covariance(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = drawn
    assert np.abs((y[:, None] * x).mean(axis=0) - MU).max() < 5 * SIGMA / np.sqrt(COUNT)
    cov = np.cov((x - y[:, None] * MU).T)
    assert np.abs(cov - SIGMA**2 * np.eye(4)).max() < 5 * SIGMA**2 * np.sqrt(2 / COUNT)


def test_the_standard_error_is_the_share_of_wrong_sides(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = drawn
    assert agrees(np.mean(np.sign(x @ THETA) != y), float(standard_error(THETA, MU, SIGMA)))


def test_l2_and_linf_errors_are_those_of_the_worst_step_on_each_sample(
    drawn: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = drawn
    eps = 0.4
    l2 = x - eps * y[:, None] * THETA / np.linalg.norm(THETA)
    linf = x - eps * y[:, None] * np.sign(THETA)
    assert agrees(np.mean(np.sign(l2 @ THETA) != y), float(l2_error(THETA, MU, SIGMA, eps=eps)))
    assert agrees(np.mean(np.sign(linf @ THETA) != y), float(linf_error(THETA, MU, SIGMA, eps=eps)))


def test_no_random_step_within_the_ball_does_more_harm(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = drawn[0][:20_000], drawn[1][:20_000]
    rng, eps = np.random.default_rng(1), 0.4
    for _ in range(20):
        corner = rng.choice([-eps, eps], 4)
        wrong = np.mean(np.sign((x + y[:, None] * corner) @ THETA) != y)
        assert wrong <= linf_error(THETA, MU, SIGMA, eps=eps) + 5 * np.sqrt(0.25 / len(x))


def test_the_printed_linf_error_is_an_upper_bound_met_only_by_equal_coordinates() -> None:
    assert linf_bound(THETA, MU, SIGMA, eps=0.3) > linf_error(THETA, MU, SIGMA, eps=0.3)
    even = np.array([1.0, 1.0, -1.0, 1.0])
    assert linf_bound(even, MU, SIGMA, eps=0.3) == pytest.approx(linf_error(even, MU, SIGMA, eps=0.3))


def test_a_better_score_can_be_a_worse_linf_error() -> None:
    mu = np.array([1.0, 0.3, 0.3, 0.3])
    sparse = np.array([1.0, 0.0, 0.0, 0.0])
    assert standard_error(mu, mu, 1.0) < standard_error(sparse, mu, 1.0)
    assert l2_error(mu, mu, 1.0, eps=0.5) < l2_error(sparse, mu, 1.0, eps=0.5)
    assert linf_error(mu, mu, 1.0, eps=0.5) > linf_error(sparse, mu, 1.0, eps=0.5)


def test_smoothing_adds_variances_not_standard_deviations(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = drawn
    noisy = x + 0.9 * np.random.default_rng(2).standard_normal(x.shape)
    share = np.mean(np.sign(noisy @ THETA) != y)
    assert agrees(share, float(smoothed_error(THETA, MU, SIGMA, noise=0.9)))
    assert not agrees(share, float(standard_error(THETA, MU, SIGMA + 0.9)))  # the paper's


@pytest.mark.parametrize("noise", [0.25, 1.0])
def test_population_certificates_are_distances_whatever_the_noise(
    noise: float, drawn: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = drawn
    probability = stats.norm.cdf(y * (x @ THETA) / (noise * np.linalg.norm(THETA)))
    radius = noise * stats.norm.ppf(np.clip(probability, 1e-300, 1 - 1e-16))
    for at in (0.0, 0.5, 1.0):
        assert agrees(np.mean(radius >= at), float(certified_accuracy(THETA, MU, SIGMA, radius=at)))


@pytest.mark.parametrize(("noise", "draws", "radius"), [(0.5, 100, 0.4), (0.5, 1000, 0.8), (1.0, 1000, 0.0)])
def test_certified_accuracy_at_finite_draws_is_that_of_drawn_votes(
    noise: float, draws: int, radius: float, drawn: tuple[np.ndarray, np.ndarray]
) -> None:
    x, y = drawn
    hits = np.random.default_rng(3).binomial(
        draws, stats.norm.cdf(y * (x @ THETA) / (noise * np.linalg.norm(THETA)))
    )
    bound = stats.beta.ppf(0.001, np.maximum(hits, 1), draws - np.maximum(hits, 1) + 1)
    certified = (hits > 0) & (bound >= stats.norm.cdf(radius / noise))
    theory = certified_accuracy_of_draws(THETA, MU, SIGMA, radius=radius, noise=noise, draws=draws)
    assert agrees(np.mean(certified), theory)
    assert theory < certified_accuracy(THETA, MU, SIGMA, radius=radius)


def test_more_draws_certify_more_up_to_the_population_and_too_few_nothing() -> None:
    def at(draws: int) -> float:
        return certified_accuracy_of_draws(THETA, MU, SIGMA, radius=0.9, noise=0.5, draws=draws)

    few, some, many = (at(draws) for draws in (100, 1000, 1_000_000))
    assert few < some < many
    assert many == pytest.approx(float(certified_accuracy(THETA, MU, SIGMA, radius=0.9)), abs=2e-3)
    # 1000 draws reach 2.463 sigma at alpha 0.001, and no further
    beyond = [
        certified_accuracy_of_draws(THETA, MU, SIGMA, radius=r, noise=1, draws=1000) for r in (2.46, 2.47)
    ]
    assert beyond[0] > 0
    assert beyond[1] == 0


def test_scores_are_batched_and_bad_inputs_refused() -> None:
    both = score(np.stack([THETA, MU]), MU, SIGMA)
    assert both.shape == (2,)
    assert both[1] == pytest.approx(np.linalg.norm(MU) / SIGMA)
    with pytest.raises(InputError, match="no theta that is zero"):
        score(np.zeros(4), MU, SIGMA)
