"""Transport between the two classes: against the general Gaussians, POT's plans and drawn pairs."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.theory.class_transport import (
    class_distance,
    class_geodesic,
    class_map,
    random_distance,
    random_path,
)
from wassermix.theory.geodesic_spread import random_covariance
from wassermix.transport.gaussian import Gaussian, gaussian_distance, gaussian_geodesic, gaussian_map

MU, SIGMA = np.array([1.0, -0.5, 0.25]), 0.7
TIMES = (0.0, 0.2, 0.5, 0.9, 1.0)


def _classes() -> tuple[Gaussian, Gaussian]:
    """The classes +1 and -1 as general Gaussians."""
    mean, cov = torch.tensor(MU), SIGMA**2 * torch.eye(3, dtype=torch.float64)
    return Gaussian(mean, cov), Gaussian(-mean, cov)


def test_distance_and_map_are_those_of_general_gaussians() -> None:
    plus, minus = _classes()
    assert class_distance(MU) == pytest.approx(float(gaussian_distance(plus, minus)) ** 0.5)
    x = np.random.default_rng(0).standard_normal((5, 3))
    general = -MU + (x - MU) @ gaussian_map(plus, minus).numpy().T
    np.testing.assert_allclose(class_map(x, MU), general, atol=1e-12)


@pytest.mark.parametrize("t", TIMES)
def test_the_geodesic_is_that_of_general_gaussians(t: float) -> None:
    general = gaussian_geodesic(*_classes(), t)
    mean, cov = class_geodesic(MU, SIGMA, t)
    np.testing.assert_allclose(mean, general.mean.numpy(), atol=1e-12)
    np.testing.assert_allclose(cov, general.cov.numpy(), atol=1e-12)


def test_the_path_and_covariance_as_the_paper_prints_them_miss_the_ends() -> None:
    start, goal = np.diag([1.0, 0.25, 4.0]), np.diag([0.5, 2.0, 1.0])
    ends = [Gaussian(torch.zeros(3, dtype=torch.float64), torch.tensor(cov)) for cov in (start, goal)]
    linear = gaussian_map(*ends).numpy()
    np.testing.assert_allclose(linear @ start @ linear, goal, atol=1e-12)
    assert np.abs(linear @ goal @ linear - goal).max() > 0.1  # with the target's covariance, at t = 1
    assert np.abs((MU + class_map(MU, MU)) - MU).max() > 0.1  # (1-t) x + T(x), at t = 0


def test_on_the_line_pots_exact_plan_pairs_as_the_map_does_at_the_cost_of_the_distance() -> None:
    rng, mu = np.random.default_rng(1), np.array([1.5])
    x0, x1 = mu + rng.standard_normal((1500, 1)), -mu + rng.standard_normal((1500, 1))
    plan = ot.emd(ot.unif(1500), ot.unif(1500), cost := ot.dist(x0, x1))
    assert np.sqrt((plan * cost).sum()) == pytest.approx(class_distance(mu), abs=0.15)
    middle = np.abs(x0[:, 0] - mu[0]) < 1.5  # the ends of a cloud are few points
    partner = x1[plan.argmax(axis=1)]
    np.testing.assert_allclose(partner[middle], class_map(x0, mu)[middle], atol=0.3)


def test_mapped_samples_are_samples_of_the_other_class_and_come_back() -> None:
    x = MU + SIGMA * np.random.default_rng(2).standard_normal((100_000, 3))
    image = class_map(x, MU)
    np.testing.assert_allclose(image.mean(axis=0), -MU, atol=5 * SIGMA / np.sqrt(100_000))
    np.testing.assert_allclose(class_map(image, MU, label=-1), x, atol=1e-12)


@pytest.mark.parametrize("t", TIMES)
def test_random_pairs_keep_the_mean_of_the_geodesic_and_lose_spread(t: float) -> None:
    rng, count = np.random.default_rng(3), 100_000
    x0, x1 = (m + SIGMA * rng.standard_normal((count, 3)) for m in (MU, -MU))
    path = (1 - t) * x0 + t * x1
    mean, cov = random_path(MU, SIGMA, t)
    np.testing.assert_allclose(path.mean(axis=0), mean, atol=5 * SIGMA / np.sqrt(count))
    np.testing.assert_allclose(np.cov(path.T), cov, atol=5 * SIGMA**2 * np.sqrt(2 / count))
    np.testing.assert_allclose(mean, class_geodesic(MU, SIGMA, t)[0])
    np.testing.assert_allclose(cov, random_covariance(*2 * [SIGMA**2 * np.eye(3)], t), atol=1e-12)


def test_random_partners_are_as_far_apart_as_drawn_ones() -> None:
    rng, count = np.random.default_rng(4), 100_000
    x0, x1 = (m + SIGMA * rng.standard_normal((count, 3)) for m in (MU, -MU))
    squared = ((x0 - x1) ** 2).sum(axis=1)
    error = 5 * squared.std() / np.sqrt(count)
    assert squared.mean() == pytest.approx(random_distance(MU, SIGMA) ** 2, abs=error)
    assert random_distance(MU, 0.0) == pytest.approx(class_distance(MU))


def test_a_label_that_is_no_class_is_refused() -> None:
    with pytest.raises(InputError, match="label: got 0"):
        class_map(MU, MU, label=0)
