"""Laws of the geodesic: ends, speed, labels, reversal, closed forms, mixup."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from wassermix.audit import class_path
from wassermix.augment import Mixup
from wassermix.core import labels as labelling
from wassermix.core.errors import InputError
from wassermix.embed import PCA, VAE, EncoderDecoder, Pixel
from wassermix.geodesic.path import Geodesic, Labels
from wassermix.transport import (
    BarycentricMap,
    EntropicMap,
    ExactMap,
    Gaussian,
    GaussianMap,
    PairMap,
    gaussian_distance,
    gaussian_geodesic,
    solve_coupling,
)


def clouds(n: int = 12, m: int = 9, d: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return first, torch.randn(m, d, generator=generator, dtype=torch.float64) * 1.5 + 2


def images(n: int = 20, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, 1, 6, 6, generator=torch.Generator().manual_seed(seed))


def test_the_path_starts_at_the_decoded_source_and_ends_at_its_image() -> None:
    x0, x1 = images(20), images(15, seed=1)
    embed = PCA(5).fit(torch.cat([x0, x1]))
    path = Geodesic.fit(x0, x1, y0=3, y1=8, embed=embed, transport=BarycentricMap(tolerance=1e-7))
    assert torch.allclose(path.at(0.0).x, embed.reconstruct(x0), atol=1e-6)
    z0, z1 = embed.encode(x0), embed.encode(x1)
    plan = solve_coupling(z0, z1, 0.02, tolerance=1e-7).plan
    expected = embed.decode(plan @ z1 / plan.sum(dim=1, keepdim=True))
    assert torch.allclose(path.at(1.0).x, expected, atol=1e-4)
    assert torch.equal(path.at(0.0).y.argmax(1).unique(), torch.tensor([3]))
    assert torch.equal(path.at(1.0).y.argmax(1).unique(), torch.tensor([8]))


@pytest.mark.parametrize("labels", ["mix", "side", "hard"])
@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_label_mass_is_one_and_follows_its_mode(labels: Labels, t: float) -> None:
    x0, x1 = clouds()
    y = Geodesic.fit(x0, x1, y0=2, y1=0, labels=labels, num_classes=4).at(t).y
    assert y.shape == (12, 4)
    assert torch.allclose(y.sum(dim=1), torch.ones(12, dtype=torch.float64))
    share = {"mix": t, "side": float(t >= 0.5), "hard": 0.0}[labels]
    assert torch.allclose(y[:, 0], torch.full_like(y[:, 0], share))


@pytest.mark.parametrize("kind", ["pixel", "pca", "vae"])
def test_velocities_are_the_derivatives_of_position_and_label(kind: str) -> None:
    x0, x1 = (images(n, seed=n).repeat(1, 1, 2, 2)[:, :, :8, :8].double() for n in (10, 7))
    both = torch.cat([x0, x1])
    embed = {"pixel": Pixel(), "pca": PCA(4), "vae": VAE(2, epochs=1, width=4)}[kind]
    embed.fit(both.float()).double()
    path = Geodesic.fit(x0, x1, embed=embed)
    h, point = 1e-5, path.at(0.4)
    slope = (path.at(0.4 + h).x - path.at(0.4 - h).x) / (2 * h)
    inside = (point.x > 1e-3) & (point.x < 1 - 1e-3)  # where no clipping starts
    assert torch.allclose(point.dx[inside], slope[inside], atol=1e-5)
    assert torch.allclose(point.dy, path.at(1.0).y - path.at(0.0).y)


def test_a_time_for_each_sample_agrees_with_one_for_all() -> None:
    x0, x1 = clouds()
    path = Geodesic.fit(x0, x1)
    times = torch.linspace(0, 1, 12)
    each = path.at(times)
    for i, t in enumerate(times):
        assert torch.allclose(each.x[i], path.at(float(t)).x[i])
        assert torch.allclose(each.y[i], path.at(float(t)).y[i])


def test_with_both_the_reverse_path_has_the_same_samples_and_labels() -> None:
    x0, x1 = clouds(8, 5)
    there = Geodesic.fit(x0, x1, y0=0, y1=1, both=True, transport=BarycentricMap(tolerance=1e-8))
    back = Geodesic.fit(x1, x0, y0=1, y1=0, both=True, transport=BarycentricMap(tolerance=1e-8))
    for t in (0.0, 0.3, 1.0):
        a, b = there.at(t), back.at(1 - t)
        swapped = torch.cat([b.x[5:], b.x[:5]])
        assert torch.allclose(a.x, swapped, atol=1e-3)
        assert torch.allclose(a.y, torch.cat([b.y[5:], b.y[:5]]))
    assert torch.allclose(there.weights.sum(), torch.tensor(1.0, dtype=torch.float64))
    assert torch.allclose(there.weights[:8].sum(), there.weights[8:].sum())


def test_hard_labels_name_each_particles_own_source_with_both() -> None:
    y = Geodesic.fit(*clouds(8, 5), labels="hard", both=True).at(0.7).y.argmax(dim=1)
    assert y.tolist() == [0] * 8 + [1] * 5


def test_the_exact_path_of_a_translation_is_the_translation_at_constant_speed() -> None:
    x0 = clouds(30)[0].float()
    shift = torch.tensor([3.0, -1.0, 2.0])
    path = class_path(x0, (x0 + shift).flip(0), embed=Pixel().fit(x0))
    assert torch.allclose(path.at(0.25).x, x0[_order(path, x0)] + 0.25 * shift, atol=1e-5)
    assert torch.isclose(path.length(), shift.norm(), rtol=1e-5)


def test_the_exact_path_in_one_dimension_joins_sorted_samples() -> None:
    x0, x1 = (c.float() for c in clouds(10, 10, d=1))
    path = class_path(x0, x1, embed=Pixel().fit(x0))
    quantiles = (0.4 * x0.sort(dim=0).values + 0.6 * x1.sort(dim=0).values)[:, 0]
    assert torch.allclose(path.at(0.6).x[:, 0].sort().values, quantiles, atol=1e-6)


def test_the_exact_path_keeps_both_marginals_for_unequal_sizes() -> None:
    x0, x1 = (c.float() for c in clouds(6, 10, d=2))
    path = class_path(x0, x1, embed=Pixel().fit(x0))
    for t, cloud in ((0.0, x0), (1.0, x1)):
        near = torch.cdist(path.at(t).x, cloud)
        assert float(near.min(dim=1).values.max()) < 1e-5
        mass = torch.zeros(len(cloud)).index_add(0, near.argmin(dim=1), path.weights)
        assert torch.allclose(mass, torch.full_like(mass, 1 / len(cloud)), atol=1e-6)


def test_gaussian_paths_have_the_closed_form_at_every_time_and_constant_speed() -> None:
    x0, x1 = clouds(400, 300)
    path = Geodesic.fit(x0, x1, transport=GaussianMap())
    ends = Gaussian.fit(x0), Gaussian.fit(x1)
    whole = gaussian_distance(*ends).sqrt()
    for t in (0.2, 0.5, 0.9):
        here, expected = Gaussian.fit(path.at(t).x), gaussian_geodesic(*ends, t)
        assert torch.allclose(here.mean, expected.mean)
        assert torch.allclose(here.cov, expected.cov)
        assert torch.isclose(gaussian_distance(ends[0], here).sqrt(), t * whole)


def test_mixup_is_the_geodesic_of_a_pair_map() -> None:
    x, y = images(16), torch.arange(16) % 4
    mixed, label = Mixup(num_classes=4)(x, y, generator=torch.Generator().manual_seed(3))
    partners, share = _mixup_draws(16, seed=3)
    path = Geodesic.fit(x, x[partners], y, y1=y[partners], transport=PairMap(), num_classes=4)
    point = path.at(1 - share)
    assert torch.allclose(point.x, mixed, atol=1e-6)
    assert torch.allclose(point.y, label, atol=1e-6)


@pytest.mark.parametrize("size", [(12, 9), (9, 12), (9, 9)])
def test_labels_at_the_end_are_those_of_the_targets_that_a_sample_goes_to(size: tuple[int, int]) -> None:
    x0, x1 = clouds(*size)
    y1 = torch.arange(len(x1)) % 3
    one_hot = torch.nn.functional.one_hot(y1, 3).double()
    plan = solve_coupling(x0, x1, 0.05, tolerance=1e-8).plan
    for transport in (
        BarycentricMap(entropy=0.05, tolerance=1e-8),
        EntropicMap(entropy=0.05, tolerance=1e-8),
    ):
        path = Geodesic.fit(x0, x1, 0, y1=y1, transport=transport)
        assert torch.allclose(path.y1, plan @ one_hot / plan.sum(dim=1, keepdim=True), atol=1e-5)
    paired = Geodesic.fit(x0, x1, 0, y1=y1, transport=PairMap())
    assert [x1.tolist().index(end) % 3 for end in paired.end.tolist()] == paired.y1.argmax(dim=1).tolist()
    with pytest.raises(InputError, match="several classes"):
        Geodesic.fit(x0, x1, 0, y1=y1, transport=GaussianMap())


def test_a_fitted_map_carries_new_samples_and_agrees_on_the_old_ones() -> None:
    x0, x1 = clouds(40, 30)
    embed, transport = Pixel().fit(x0), EntropicMap(entropy=0.05, tolerance=1e-7)
    path = Geodesic.fit(x0, x1, embed=embed, transport=transport)
    new = Geodesic.along(torch.cat([x0, x0 + 0.1]), transport, embed=embed)
    assert torch.allclose(new.at(0.5).x[:40], path.at(0.5).x)
    exact = BarycentricMap(entropy=0.05, tolerance=1e-7)
    barycentric = Geodesic.fit(x0, x1, embed=embed, transport=exact)
    assert torch.allclose(barycentric.end, path.end, atol=5e-3)


@pytest.mark.parametrize("entropy", [0.005, 0.02, 0.1, 1.0, 5.0])
def test_the_map_of_new_samples_is_the_barycentric_one_on_the_old_at_every_entropy(entropy: float) -> None:
    x0, x1 = clouds(30, 20)
    known = Geodesic.fit(x0, x1, transport=BarycentricMap(entropy=entropy, tolerance=1e-8))
    any_point = Geodesic.fit(x0, x1, transport=EntropicMap(entropy=entropy, tolerance=1e-8))
    assert torch.allclose(known.end, any_point.end, atol=1e-6)


@pytest.mark.parametrize("entropy", [0.05, 1.0])
def test_the_debiased_map_of_a_translation_gives_the_exact_path(entropy: float) -> None:
    x0, shift = clouds(30)[0], torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
    transport = EntropicMap(entropy=entropy, debiased=True, tolerance=1e-8)
    path = Geodesic.fit(x0, x0 + shift, transport=transport)
    assert torch.allclose(path.at(0.25).x, x0 + 0.25 * shift, atol=1e-5)


def test_an_encoder_that_is_still_training_may_be_used_both_ways() -> None:
    layer = torch.nn.Linear(3, 2).double()
    embed = EncoderDecoder(layer, lambda z: z)
    path = Geodesic.fit(*clouds(), embed=embed, both=True)
    assert path.at(0.5).x.shape == (21, 2)


def test_a_class_with_one_sample_works_and_an_empty_one_is_refused() -> None:
    x0, x1 = clouds()
    assert torch.allclose(Geodesic.fit(x0[:1], x1).at(1.0).x[0], x1.mean(dim=0))
    with pytest.raises(InputError, match="both classes"):
        Geodesic.fit(x0, x1[:0])
    with pytest.raises(InputError, match="none of"):
        Geodesic.fit(x0, x1, labels="soft")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got \(3,\) and \(2,\)"):
        Geodesic.fit(x0, x1[:, :2])
    with pytest.raises(InputError, match=r"t=1\.5"):
        Geodesic.fit(x0, x1).at(1.5)
    with pytest.raises(InputError, match=r"t=0 to 5"):
        Geodesic.fit(x0, x1).at(torch.linspace(0, 5, 12))
    with pytest.raises(InputError, match=r"t=nan"):
        Geodesic.fit(x0, x1).at(float("nan"))


class Shift:
    """A transport map of the user's own: no base class, and ``fit`` returns nothing."""

    def fit(self, z0: torch.Tensor, z1: torch.Tensor) -> None:
        """The difference of the means."""
        self.move = z1.mean(dim=0) - z0.mean(dim=0)

    def map(self, z: torch.Tensor) -> torch.Tensor:
        """Shifted points."""
        return z + self.move


def test_a_map_of_the_users_own_needs_no_more_than_fit_and_map() -> None:
    x0, x1 = clouds()
    path = Geodesic.fit(x0, x1, transport=Shift(), both=True)  # type: ignore[arg-type]
    move = x1.mean(dim=0) - x0.mean(dim=0)
    assert torch.allclose(path.at(0.25).x, torch.cat([x0 + 0.25 * move, x1 - 0.75 * move]))


def test_a_class_may_be_any_kind_of_integer() -> None:
    x0, x1 = clouds()
    expected = Geodesic.fit(x0, x1, 3, y1=1).at(0.25).y
    for kind in (np.int64, torch.tensor):
        assert torch.equal(Geodesic.fit(x0, x1, kind(3), y1=kind(1)).at(0.25).y, expected)  # type: ignore


def _order(path: Geodesic, x0: torch.Tensor) -> torch.Tensor:
    return torch.cdist(path.start, x0).argmin(dim=1)


def _mixup_draws(count: int, seed: int) -> tuple[torch.Tensor, float]:
    """The partners and the share that the augmenter draws, found again from what it does to known values."""
    marks = torch.arange(count, dtype=torch.float32)[:, None]
    one_hot = torch.eye(count)
    _mixed, label = Mixup(num_classes=count)(marks, one_hot, generator=torch.Generator().manual_seed(seed))
    share = float(label.diagonal().min())
    others = label - share * torch.eye(count)
    return others.argmax(dim=1), share


def test_the_joint_cost_keeps_samples_in_their_class_as_its_weight_grows() -> None:
    generator = torch.Generator().manual_seed(0)
    x0, x1 = torch.randn(12, 2, generator=generator), torch.randn(12, 2, generator=generator)
    y0, y1 = torch.arange(12) % 2, torch.arange(12) % 2

    def cost(weight: float, moves: torch.Tensor) -> float:
        differ = (y0 != y1[moves]).double().sum()
        return float((x0 - x1[moves]).double().square().sum() + weight * differ)

    for weight in (0.01, 1.0, 100.0):
        path = Geodesic.joint(x0, x1, y0, y1=y1, label_weight=weight, transport=ExactMap())
        moves = torch.cdist(path.end, x1).argmin(dim=1)
        assert torch.allclose(path.end, x1[moves], atol=1e-5)
        assert torch.allclose(path.y1, labelling.soft(y1[moves], 2), atol=1e-4)
        table = (
            torch.cdist(x0.double(), x1.double()).square() + weight * (y0[:, None] != y1[None, :]).double()
        )
        rows, columns = linear_sum_assignment(table.numpy())
        assert cost(weight, moves) == pytest.approx(float(table[rows, columns].sum()), rel=1e-5)
    assert torch.equal(y1[moves], y0)  # at the largest weight nobody changes class
    with pytest.raises(InputError, match="label_weight"):
        Geodesic.joint(x0, x1, y0, y1=y1, label_weight=0.0)
