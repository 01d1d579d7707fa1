"""Gaussian closed forms against their defining equations, singular covariances included."""

from __future__ import annotations

import pytest
import torch

from generators.transport_problems import cloud
from wassermix.transport import (
    Gaussian,
    gaussian_barycenter,
    gaussian_distance,
    gaussian_geodesic,
    gaussian_map,
)


def gaussian(d: int, seed: int, rank: int | None = None) -> Gaussian:
    root = cloud(rank or d, d, seed)
    return Gaussian(cloud(1, d, seed + 1)[0], root.T @ root)


def test_map_carries_one_covariance_to_the_other_and_is_symmetric() -> None:
    p0, p1 = gaussian(5, 0), gaussian(5, 10)
    matrix = gaussian_map(p0, p1)
    torch.testing.assert_close(matrix @ p0.cov @ matrix, p1.cov)
    torch.testing.assert_close(matrix, matrix.T)


def test_geodesic_follows_the_map_at_constant_speed() -> None:
    p0, p1, t = gaussian(4, 0), gaussian(4, 10), 0.3
    mix = (1 - t) * torch.eye(4, dtype=torch.float64) + t * gaussian_map(p0, p1)
    torch.testing.assert_close(gaussian_geodesic(p0, p1, t).cov, mix @ p0.cov @ mix)
    whole = gaussian_distance(p0, p1)
    torch.testing.assert_close(gaussian_distance(p0, gaussian_geodesic(p0, p1, t)), t**2 * whole)


def test_singular_covariances_have_distances_and_geodesics() -> None:
    p0, p1 = gaussian(4, 0, rank=2), gaussian(4, 10, rank=1)
    whole = gaussian_distance(p0, p1)
    assert bool(whole.isfinite())
    middle = gaussian_geodesic(p0, p1, 0.5)
    torch.testing.assert_close(gaussian_distance(p0, middle), whole / 4, rtol=1e-6, atol=1e-8)
    point = Gaussian(p0.mean, torch.zeros(4, 4, dtype=torch.float64))
    expected = (p0.mean - p1.mean).square().sum() + p1.cov.trace()
    torch.testing.assert_close(gaussian_distance(point, p1), expected)


def test_batches_equal_loops() -> None:
    pairs = [(gaussian(3, s), gaussian(3, s + 50)) for s in range(4)]
    p0, p1 = (
        Gaussian(torch.stack([pair[k].mean for pair in pairs]), torch.stack([pair[k].cov for pair in pairs]))
        for k in (0, 1)
    )
    torch.testing.assert_close(gaussian_distance(p0, p1), torch.stack([gaussian_distance(*p) for p in pairs]))
    torch.testing.assert_close(gaussian_map(p0, p1), torch.stack([gaussian_map(*p) for p in pairs]))


def test_barycenter_of_two_is_their_geodesic() -> None:
    p0, p1 = gaussian(3, 0), gaussian(3, 10)
    both = Gaussian(torch.stack([p0.mean, p1.mean]), torch.stack([p0.cov, p1.cov]))
    found, expected = gaussian_barycenter(both, torch.tensor([0.6, 0.4])), gaussian_geodesic(p0, p1, 0.4)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.cov, expected.cov, atol=1e-7, rtol=1e-6)


def test_one_point_is_a_gaussian_without_spread() -> None:
    fitted = Gaussian.fit(torch.tensor([[1.0, 2.0]]))
    assert float(fitted.cov.abs().max()) == 0
    with pytest.raises(ValueError, match="at least one"):
        Gaussian.fit(torch.zeros(0, 2))


def test_points_and_weights_that_are_not_finite_are_refused() -> None:
    bad = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])
    with pytest.raises(ValueError, match="NaN"):
        Gaussian.fit(bad)
    with pytest.raises(ValueError, match="weights"):
        Gaussian.fit(torch.rand(3, 2), torch.zeros(3))
