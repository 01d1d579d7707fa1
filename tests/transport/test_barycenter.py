"""Barycenters against closed forms."""

from __future__ import annotations

import pytest
import torch

from generators.transport_problems import cloud
from wassermix.core.errors import InputError
from wassermix.transport import cloud_barycenter, grid_barycenter

LINE = torch.linspace(-5, 5, 400, dtype=torch.float64)


def bell(mean: float, deviation: float, x: torch.Tensor = LINE) -> torch.Tensor:
    return (-(x - mean).square() / (2 * deviation**2)).exp()


def moments(histogram: torch.Tensor, x: torch.Tensor = LINE) -> tuple[float, float]:
    mean = (histogram * x).sum()
    return float(mean), float((histogram * (x - mean).square()).sum().sqrt())


def test_debiasing_removes_the_blur_of_entropy() -> None:
    bells, weights = torch.stack([bell(-2, 0.4), bell(2, 0.8)]), torch.tensor([0.3, 0.7])
    sharp = grid_barycenter(bells, weights, 0.05, axes=[LINE], absolute=True)
    blurred = grid_barycenter(bells, weights, 0.05, axes=[LINE], absolute=True, debiased=False)
    assert sharp.converged
    assert moments(sharp.histogram) == pytest.approx((0.7998, 0.6797), abs=1e-3)  # exact: 0.8, 0.68
    assert moments(blurred.histogram) == pytest.approx((0.7998, 0.6978), abs=1e-3)


def test_small_entropy_is_solved_in_logarithms() -> None:
    x = torch.linspace(-5, 5, 120, dtype=torch.float64)
    bells, weights = torch.stack([bell(-2, 0.4, x), bell(2, 0.8, x)]), torch.tensor([0.3, 0.7])
    found = grid_barycenter(bells, weights, 0.02, axes=[x], absolute=True, tolerance=1e-4)
    assert moments(found.histogram, x) == pytest.approx((0.8, 0.68), abs=0.02)


def test_scalings_and_logarithms_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.rand(3, 8, 6, generator=torch.Generator().manual_seed(0)) + 0.1
    plain = grid_barycenter(images, None, 0.1, tolerance=1e-5)
    monkeypatch.setattr("wassermix.transport.barycenter.LARGEST_EXPONENT", 0.0)
    logged = grid_barycenter(images, None, 0.1, tolerance=1e-5)
    assert plain.iterations == logged.iterations
    torch.testing.assert_close(plain.histogram, logged.histogram)


def test_the_debiased_barycenter_of_two_points_lies_half_way_at_any_entropy() -> None:
    points = torch.zeros(2, 21, dtype=torch.float64)
    points[0, 4] = points[1, 16] = 1
    for entropy in (1e-2, 1e-4):
        found = grid_barycenter(points, None, entropy, tolerance=1e-3)
        assert found.converged
        assert float(found.histogram[10]) == pytest.approx(1, abs=0.05)


def test_a_grid_of_three_dimensions_works() -> None:
    cubes = torch.rand(2, 4, 5, 3, generator=torch.Generator().manual_seed(0)) + 0.1
    found = grid_barycenter(cubes, None, 0.2, tolerance=1e-5)
    assert found.histogram.shape == (4, 5, 3)
    assert float(found.histogram.sum()) == pytest.approx(1)


def test_unconverged_barycenter_says_so() -> None:
    with pytest.warns(UserWarning, match="did not converge"):
        found = grid_barycenter(torch.stack([bell(-2, 0.4), bell(2, 0.8)]), max_iterations=3)
    assert not found.converged


def test_bad_histograms_are_refused() -> None:
    for bad in (torch.zeros(2, 5), -torch.ones(2, 5), torch.ones(5)):
        with pytest.raises(InputError, match="histograms"):
            grid_barycenter(bad)
    with pytest.raises(InputError, match="axes"):
        grid_barycenter(torch.ones(2, 5), axes=[torch.arange(4)])


def test_barycenter_of_translated_clouds_is_the_cloud_between() -> None:
    z, shift = cloud(25, 3, 0), torch.tensor([4.0, 0.0, 0.0], dtype=torch.float64)
    found = cloud_barycenter([z, z + shift], torch.tensor([0.75, 0.25]), start=z + 1)
    torch.testing.assert_close(found.points.sort(0).values, (z + shift / 4).sort(0).values)
    assert found.converged


def test_cloud_barycenter_takes_weights_and_entropy() -> None:
    clouds = [cloud(12, 2, 0), cloud(9, 2, 1) + 3]
    weights = torch.rand(9, generator=torch.Generator().manual_seed(0))
    for entropy in (0.0, 0.1):
        found = cloud_barycenter(clouds, start=clouds[0], cloud_weights=[None, weights], entropy=entropy)
        expected = (clouds[0].mean(0) + (weights[:, None] * clouds[1]).sum(0) / weights.sum()) / 2
        torch.testing.assert_close(found.points.mean(0), expected, atol=1e-3, rtol=1e-3)
