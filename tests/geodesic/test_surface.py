"""Between several classes: corners, the two-class case, Gaussians, the worst weights."""

from __future__ import annotations

import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.embed import Pixel
from wassermix.geodesic.path import Geodesic
from wassermix.geodesic.surface import SimplexGeodesic, worst_weights
from wassermix.transport import Gaussian, GaussianMap, gaussian_barycenter


def clouds(count: int = 3, n: int = 20, d: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n + 3 * k, d, generator=generator).double() + 3 * k for k in range(count)]


def test_corners_are_the_images_of_the_anchor_and_labels_mix_by_weight() -> None:
    xs = clouds()
    surface = SimplexGeodesic.fit(xs, [4, 0, 2])
    assert torch.equal(surface.at(torch.tensor([1.0, 0.0, 0.0])).x, xs[0])
    y = surface.at(torch.tensor([0.5, 0.2, 0.3])).y
    assert torch.allclose(y[0], torch.tensor([0.2, 0.0, 0.3, 0.0, 0.5], dtype=torch.float64))


def test_two_classes_give_the_geodesic() -> None:
    xs = clouds(2)
    surface, path = SimplexGeodesic.fit(xs, [0, 1]), Geodesic.fit(xs[0], xs[1])
    assert torch.allclose(surface.at(torch.tensor([0.7, 0.3])).x, path.at(0.3).x)
    assert torch.allclose(surface.at(torch.tensor([0.7, 0.3])).y, path.at(0.3).y)


def test_commuting_gaussians_give_the_barycenter_and_others_do_not() -> None:
    generator = torch.Generator().manual_seed(0)
    base = torch.randn(4000, 2, generator=generator, dtype=torch.float64)
    base = (base - base.mean(0)) @ torch.linalg.inv(torch.linalg.cholesky(base.T.cov())).T
    weights = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)

    def gap(roots: list[torch.Tensor]) -> float:
        xs = [base @ root for root in roots]
        surface = SimplexGeodesic.fit(xs, [0, 1, 2], transport=GaussianMap())
        fitted = [Gaussian.fit(x) for x in xs]
        stacked = Gaussian(torch.stack([g.mean for g in fitted]), torch.stack([g.cov for g in fitted]))
        here = Gaussian.fit(surface.at(weights).z)
        return float((here.cov - gaussian_barycenter(stacked, weights).cov).norm())

    stretches = torch.tensor([[1.0, 2.0], [3.0, 0.5], [0.5, 1.5]], dtype=torch.float64)
    assert gap(list(torch.diag_embed(stretches))) < 1e-6
    turns = [[[1.0, 0.0], [0.0, 2.0]], [[3.0, 2.0], [2.0, 2.0]], [[0.6, -0.8], [-0.8, 2.0]]]
    assert gap(list(torch.tensor(turns, dtype=torch.float64))) > 1e-2


def test_the_exact_variant_comes_closer_to_the_barycenter_where_maps_do_not_commute() -> None:
    generator = torch.Generator().manual_seed(1)
    roots = torch.tensor([[[1.0, 0.0], [0.0, 3.0]], [[3.0, 2.0], [2.0, 2.0]], [[2.0, -1.8], [-1.8, 2.0]]])
    xs = [torch.randn(200, 2, generator=generator) @ root for root in roots]
    weights = torch.tensor([0.2, 0.5, 0.3])
    fitted = [Gaussian.fit(x) for x in xs]
    stacked = Gaussian(torch.stack([g.mean for g in fitted]), torch.stack([g.cov for g in fitted]))
    expected = gaussian_barycenter(stacked, weights.double()).cov

    def gap(exact: bool) -> float:
        surface = SimplexGeodesic.fit(xs, [0, 1, 2], exact=exact)
        return float((Gaussian.fit(surface.at(weights).z).cov - expected).norm() / expected.norm())

    assert gap(exact=True) < 0.5 * gap(exact=False)


def test_worst_weights_find_the_top_of_a_known_hill_on_the_simplex() -> None:
    corners = torch.eye(3)[:, None, :]  # one sample whose latent is the weights themselves
    surface = SimplexGeodesic(corners, torch.eye(3), Pixel().fit(torch.eye(3)))
    top = torch.tensor([0.6, 0.1, 0.3])
    found, value = worst_weights(surface, lambda x, y: -(x - top).square().sum(dim=1), steps=60)
    assert torch.allclose(found, top, atol=0.05)
    assert value > -0.01
    assert torch.isclose(found.sum(), torch.tensor(1.0))
    assert bool((found > 0).all())


def test_an_anchor_or_a_class_that_is_not_there_is_refused() -> None:
    xs = clouds()
    with pytest.raises(InputError, match="anchor 3"):
        SimplexGeodesic.fit(xs, [0, 1, 2], anchor=3)
    with pytest.raises(InputError, match=r"samples of each class; got \[20, 0\]"):
        SimplexGeodesic.fit([xs[0], xs[1][:0]], [0, 1])
