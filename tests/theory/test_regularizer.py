"""The regulariser in the Gaussian model: against numerical integrals, optimisers and drawn samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize, special

from wassermix.theory.gaussian_model import linf_error, standard_error
from wassermix.theory.regularizer import (
    label_entropy,
    linear_minimizer,
    linear_objective,
    linear_path_loss,
    linear_regularizer,
    logistic_path_loss,
    printed_minimizer,
    total_variation,
)

MU, THETA = np.array([1.0, -0.5, 0.25]), np.array([0.7, 0.2, -0.3])
TIMES = np.linspace(0, 1, 201)


def test_the_linear_path_loss_is_that_of_samples_on_the_geodesic() -> None:
    rng, count = np.random.default_rng(0), 200_000
    x0 = -MU + rng.standard_normal((count, 3))
    for t in (0.0, 0.3, 0.5, 0.8):
        losses = -(2 * t - 1) * ((x0 + 2 * t * MU) @ THETA)  # the optimal map is x + 2 mu
        error = 5 * losses.std() / np.sqrt(count) + 1e-12
        assert losses.mean() == pytest.approx(float(linear_path_loss(THETA, MU, t)), abs=error)


def test_the_linear_regulariser_is_the_integral_of_the_slope() -> None:
    def slope(t: float) -> float:
        return abs(
            float(linear_path_loss(THETA, MU, t + 1e-6) - linear_path_loss(THETA, MU, t - 1e-6)) / 2e-6
        )

    value, _ = integrate.quad(slope, 0, 1, points=[0.5])
    assert linear_regularizer(THETA, MU) == pytest.approx(value, rel=1e-4)
    assert total_variation(linear_path_loss(THETA, MU, TIMES)) == pytest.approx(linear_regularizer(THETA, MU))


@pytest.mark.parametrize(("weight", "decay"), [(0.0, 0.5), (0.3, 0.5), (5.0, 0.1)])
def test_the_minimiser_is_what_an_optimiser_finds_and_the_printed_one_is_not(
    weight: float, decay: float
) -> None:
    found = optimize.minimize(linear_objective, np.zeros(3), args=(MU, weight, decay), tol=1e-10).x
    np.testing.assert_allclose(linear_minimizer(MU, weight, decay), found, atol=1e-4)
    if weight > 0:
        assert np.abs(printed_minimizer(MU, weight, decay) - found).max() > 0.01


def test_the_minimiser_inverts_the_matrix_of_the_corrected_proposition() -> None:
    matrix = 4 * 0.3 * np.outer(MU, MU) + 0.5 * np.eye(3)
    np.testing.assert_allclose(linear_minimizer(MU, 0.3, 0.5), np.linalg.solve(matrix, MU), atol=1e-12)


def test_the_regulariser_leaves_the_classifier_as_it_was() -> None:
    plain, heavy = linear_minimizer(MU, 0.0, 0.5), linear_minimizer(MU, 50.0, 0.5)
    assert standard_error(heavy, MU, 1.0) == pytest.approx(standard_error(plain, MU, 1.0))
    assert linf_error(heavy, MU, 1.0, eps=0.2) == pytest.approx(linf_error(plain, MU, 1.0, eps=0.2))
    assert np.linalg.norm(heavy) < 0.05 * np.linalg.norm(plain)


@pytest.mark.parametrize(("score", "scale"), [(1.0, 1.0), (2.0, 0.5), (0.5, 3.0)])
def test_the_logistic_path_loss_is_that_of_drawn_samples(score: float, scale: float) -> None:
    rng, count = np.random.default_rng(1), 200_000
    times = np.array([0.0, 0.3, 0.5, 1.0])
    theory = logistic_path_loss(times, score, scale)
    for t, expected in zip(times, theory):
        x = (2 * t - 1) * score + rng.standard_normal(count)  # along mu, in units of sigma
        p = special.expit(scale * 2 * score * x)
        losses = -t * np.log(p) - (1 - t) * np.log1p(-p)
        assert losses.mean() == pytest.approx(expected, abs=5 * losses.std() / np.sqrt(count))


def test_cross_entropy_pays_for_collapse_and_kl_for_calibration() -> None:
    constant = logistic_path_loss(TIMES, 1.0, 0.0)
    calibrated = label_entropy(TIMES)  # says t at time t, so its cross-entropy is the labels' own
    assert total_variation(constant) == pytest.approx(0.0, abs=1e-12)
    assert total_variation(calibrated) == pytest.approx(2 * np.log(2))
    assert total_variation(constant - label_entropy(TIMES)) == pytest.approx(2 * np.log(2))
    assert total_variation(calibrated - label_entropy(TIMES)) == 0.0


def test_among_logistic_classifiers_ce_prefers_none_and_kl_one_that_says_something() -> None:
    scales = np.linspace(0, 2, 41)
    losses = [logistic_path_loss(TIMES, 1.0, scale) for scale in scales]
    ce = [total_variation(loss) for loss in losses]
    kl = [total_variation(loss - label_entropy(TIMES)) for loss in losses]
    assert scales[np.argmin(ce)] == 0.0
    assert scales[np.argmin(kl)] > 0.2
    assert min(kl) < 0.5 * kl[0]
