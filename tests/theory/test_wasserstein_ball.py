"""The worst Gaussians in a Wasserstein ball, against a numerical adversary and the exact distance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from wassermix.core.errors import InputError
from wassermix.theory.wasserstein_ball import (
    mean_shift_error,
    printed_error,
    worst_error,
    worst_gaussian,
    worst_score,
    worst_step,
)
from wassermix.transport.gaussian import Gaussian, gaussian_distance

SETTINGS = [(1.0, 1.0, 0.2), (1.0, 1.0, 0.5), (1.0, 1.0, 0.8), (2.0, 0.7, 1.1), (0.6, 1.5, 0.3)]


def _adversary(length: float, sigma: float, eps: float, *, starts: int = 4) -> float:
    """The least score that a numerical search finds among symmetric Gaussians in the plane within ``eps``.

    ``S = L L'`` and ``W2^2 = |shift|^2 + tr S + 2 sigma^2 - 2 sigma tr S^1/2``, independent of the theory's
    formulas; both classes get the same covariance, for which the best classifier is known.
    """
    mu, rng = np.array([length, 0.0]), np.random.default_rng(0)

    def cov(p: np.ndarray) -> np.ndarray:
        lower = np.array([[p[2], 0.0], [p[3], p[4]]])
        return lower @ lower.T

    def slack(p: np.ndarray) -> float:
        values = np.maximum(np.linalg.eigvalsh(cov(p)), 0)
        return eps**2 - p[:2] @ p[:2] - values.sum() - 2 * sigma**2 + 2 * sigma * np.sqrt(values).sum()

    def score_squared(p: np.ndarray) -> float:
        return float((mu + p[:2]) @ np.linalg.solve(cov(p) + 1e-12 * np.eye(2), mu + p[:2]))

    found = []
    for _ in range(starts):
        start = np.array([0.0, 0.0, sigma, 0.0, sigma]) + 0.1 * eps * rng.standard_normal(5)
        result = optimize.minimize(
            score_squared,
            start,
            constraints={"type": "ineq", "fun": slack},
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if slack(result.x) >= -1e-7:
            found.append(np.sqrt(result.fun))
    return min(found)


@pytest.mark.parametrize(("length", "sigma", "eps"), SETTINGS)
def test_no_numerical_adversary_does_better_and_one_does_as_well(
    length: float, sigma: float, eps: float
) -> None:
    assert _adversary(length, sigma, eps) == pytest.approx(worst_score(length, sigma, eps), rel=1e-4)


@pytest.mark.parametrize(("length", "sigma", "eps"), SETTINGS)
def test_the_worst_gaussian_is_at_distance_eps_and_has_the_worst_score(
    length: float, sigma: float, eps: float
) -> None:
    mu = length * np.array([0.6, 0.0, 0.8])
    mean, cov = worst_gaussian(mu, sigma, eps)
    ends = [
        Gaussian(torch.as_tensor(m), torch.as_tensor(c)) for m, c in ((mu, sigma**2 * np.eye(3)), (mean, cov))
    ]
    assert float(gaussian_distance(*ends)) == pytest.approx(eps**2, rel=1e-8)
    assert np.sqrt(mean @ np.linalg.solve(cov, mean)) == pytest.approx(worst_score(length, sigma, eps))


def test_against_the_mean_direction_no_gaussian_of_either_class_is_worse() -> None:
    """The other half of the minimax: along ``mu`` each class is in a disc around ``(sigma, |mu|)``."""
    length, sigma, eps = 1.4, 0.8, 0.6
    angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 2001), np.linspace(0, eps, 201))
    scores = (length + radius * np.sin(angle)) / np.abs(sigma + radius * np.cos(angle))
    assert scores.min() == pytest.approx(worst_score(length, sigma, eps), abs=1e-4)
    assert scores.min() >= worst_score(length, sigma, eps) - 1e-12


def test_the_error_of_the_worst_gaussians_is_the_share_of_wrong_draws() -> None:
    mu, count, rng = np.array([1.0, 0.0]), 200_000, np.random.default_rng(4)
    mean, cov = worst_gaussian(mu, 1.0, 0.5)
    wrong = np.mean(rng.multivariate_normal(mean, cov, count) @ mu < 0)
    truth = worst_error(1.0, 1.0, 0.5)
    assert abs(wrong - truth) < 5 * np.sqrt(truth * (1 - truth) / count)


@pytest.mark.parametrize(("eps", "worst"), [(0.2, 0.750), (0.5, 0.451), (0.8, 0.186)])
def test_the_papers_proposition_fails_for_unit_mean_and_noise(eps: float, worst: float) -> None:
    assert worst_score(1.0, 1.0, eps) == pytest.approx(worst, abs=5e-4)
    assert worst < 1 - eps
    assert worst_error(1.0, 1.0, eps) > printed_error(1.0, 1.0, eps)


def test_moving_the_means_alone_is_the_papers_claim_only_for_a_unit_mean() -> None:
    assert mean_shift_error(1.0, 1.3, 0.4) == pytest.approx(printed_error(1.0, 1.3, 0.4))
    assert mean_shift_error(2.0, 1.3, 0.4) == pytest.approx(stats.norm.sf(1.6 / 1.3))
    assert mean_shift_error(2.0, 1.3, 0.4) < printed_error(2.0, 1.3, 0.4)


def test_widening_never_helps_the_learner_and_nothing_moves_without_a_radius() -> None:
    for length, sigma, eps in SETTINGS:
        assert worst_error(length, sigma, eps) > mean_shift_error(length, sigma, eps)
        assert np.hypot(*worst_step(length, sigma, eps)) == pytest.approx(eps)
    assert worst_score(1.5, 0.5, 0.0) == pytest.approx(3.0)


def test_a_ball_that_holds_the_other_class_leaves_chance() -> None:
    assert worst_error(1.0, 1.0, 1.0) == 0.5
    assert worst_error(1.0, 1.0, 1.0 - 1e-9) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(InputError, match="eps < "):
        worst_score(1.0, 1.0, 1.5)
