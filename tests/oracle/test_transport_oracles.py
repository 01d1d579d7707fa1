"""Transport against POT and scipy."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from generators.transport_problems import check_coupling, cloud
from wassermix.transport import (
    Gaussian,
    cloud_barycenter,
    gaussian_barycenter,
    gaussian_distance,
    gaussian_map,
    grid_barycenter,
    solve_coupling,
    solve_exact,
)


def weights(n: int, seed: int) -> torch.Tensor:
    w = torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.05
    return w / w.sum()


@pytest.mark.parametrize("entropy", [0.1, 0.02])
@pytest.mark.parametrize("uniform", [True, False])
def test_plan_and_value_are_those_of_pot(entropy: float, uniform: bool) -> None:
    z0, z1 = cloud(20, 3, 0), cloud(15, 3, 1) + 1
    a, b = (None, None) if uniform else (weights(20, 0), weights(15, 1))
    coupling = solve_coupling(z0, z1, entropy, weights0=a, weights1=b, tolerance=1e-9)
    cost, eps = ot.dist(z0.numpy(), z1.numpy()), float(coupling.entropy)
    wa, wb = coupling.weights0.numpy(), coupling.weights1.numpy()
    plan = ot.sinkhorn(wa, wb, cost, eps, method="sinkhorn_log", stopThr=1e-11, numItermax=50_000)
    np.testing.assert_allclose(coupling.plan.numpy(), plan, atol=1e-8)
    divergence = (plan * np.log(plan / np.outer(wa, wb))).sum()
    assert float(coupling.value) == pytest.approx((plan * cost).sum() + eps * divergence, rel=1e-8)


def test_relaxed_plan_is_that_of_pot() -> None:
    z0, z1 = cloud(12, 2, 0), cloud(9, 2, 1) + 0.5
    a, b = weights(12, 0), 1.5 * weights(9, 1)
    coupling = solve_coupling(z0, z1, 0.2, weights0=a, weights1=b, relax=1.3, absolute=True, tolerance=1e-9)
    cost = ot.dist(z0.numpy(), z1.numpy())
    plan = ot.unbalanced.sinkhorn_unbalanced(
        a.numpy(), b.numpy(), cost, 0.2, 1.3, stopThr=1e-13, numItermax=50_000, reg_type="kl"
    )
    np.testing.assert_allclose(coupling.plan.numpy(), plan, atol=1e-7)
    assert bool(coupling.converged)

    def kl(p: np.ndarray, q: np.ndarray) -> float:
        return float((p * np.log(p / q) - p + q).sum())

    primal = (plan * cost).sum() + 0.2 * kl(plan, np.outer(a, b))
    primal += 1.3 * (kl(plan.sum(1), a.numpy()) + kl(plan.sum(0), b.numpy()))
    assert float(coupling.value) == pytest.approx(primal, rel=1e-6)


@pytest.mark.parametrize("mass", [1e-4, 1e-2, 100.0])
def test_relaxed_plan_is_that_of_pot_at_any_total_mass(mass: float) -> None:
    z0, z1 = cloud(12, 2, 0), cloud(9, 2, 1) + 0.5
    a, b = mass * weights(12, 0), mass * weights(9, 1)
    found = solve_coupling(z0, z1, 0.2, weights0=a, weights1=b, relax=1.3, absolute=True, tolerance=1e-6)
    plan = ot.unbalanced.sinkhorn_unbalanced(
        a.numpy(), b.numpy(), ot.dist(z0.numpy(), z1.numpy()), 0.2, 1.3,
        stopThr=1e-14, numItermax=50_000, reg_type="kl",
    )  # fmt: skip
    assert bool(found.converged)
    assert float(np.abs(found.plan.numpy() - plan).sum()) <= 1e-4 * plan.sum()


def test_relaxed_marginals_leave_an_outlier_behind() -> None:
    z0, z1 = cloud(30, 2, 0), torch.cat([cloud(29, 2, 1), torch.full((1, 2), 50.0, dtype=torch.float64)])
    coupling = solve_coupling(z0, z1, 0.1, relax=2.0, absolute=True)
    assert float(coupling.plan.sum(0)[29]) < 1e-6
    assert float(coupling.plan.sum()) > 0.3


@pytest.mark.parametrize(
    ("n", "m", "uniform"), [(40, 40, True), (150, 150, True), (90, 70, True), (80, 80, False)]
)
def test_exact_cost_is_that_of_emd(n: int, m: int, uniform: bool) -> None:
    z0, z1 = cloud(n, 3, 0), cloud(m, 3, 1) + 0.5
    a, b = (None, None) if uniform else (weights(n, 0), weights(m, 1))
    coupling = solve_exact(z0, z1, weights0=a, weights1=b)
    check_coupling(coupling)
    wa, wb = coupling.weights0.numpy(), coupling.weights1.numpy()
    assert float(coupling.cost) == pytest.approx(ot.emd2(wa, wb, ot.dist(z0.numpy(), z1.numpy())), rel=1e-9)
    assert bool(coupling.converged)
    matrix = coupling.ground.block()
    violation = (coupling.f[:, None] + coupling.g - matrix).max()
    assert float(violation) < 1e-9  # the potentials prove it


def test_assignment_with_ties_is_that_of_scipy() -> None:
    draw = np.random.default_rng(0)
    for n in (1, 2, 7, 30, 100):
        z0, z1 = (torch.from_numpy(draw.integers(0, 4, (n, 2)).astype(float)) for _ in range(2))
        matrix = (z0[:, None] - z1).square().sum(-1).numpy()
        rows, columns = linear_sum_assignment(matrix)
        assert float(solve_exact(z0, z1).cost) == pytest.approx(matrix[rows, columns].mean(), abs=1e-12)


def test_gaussian_forms_are_those_of_pot() -> None:
    m0, m1, c0, c1 = cloud(1, 4, 0)[0], cloud(1, 4, 1)[0], cloud(9, 4, 2).T.cov(), cloud(8, 4, 3).T.cov()
    p0, p1 = Gaussian(m0, c0), Gaussian(m1, c1)
    numbers = [m0.numpy(), m1.numpy(), c0.numpy(), c1.numpy()]
    assert float(gaussian_distance(p0, p1)) == pytest.approx(
        ot.gaussian.bures_wasserstein_distance(*numbers) ** 2
    )
    np.testing.assert_allclose(
        gaussian_map(p0, p1), ot.gaussian.bures_wasserstein_mapping(*numbers)[0], atol=1e-9
    )
    means, covs = torch.stack([m0, m1]), torch.stack([c0, c1])
    found = gaussian_barycenter(Gaussian(means, covs), torch.tensor([0.3, 0.7]))
    _, expected = ot.gaussian.bures_wasserstein_barycenter(
        means.numpy(), covs.numpy(), weights=np.array([0.3, 0.7]), eps=1e-12, num_iter=2000
    )
    np.testing.assert_allclose(found.cov, expected, atol=1e-7)


def test_grid_barycenter_follows_that_of_pot(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = torch.Generator().manual_seed(0)
    images = torch.rand(3, 8, 8, generator=draw, dtype=torch.float64) + 0.1
    images /= images.sum((1, 2), keepdim=True)
    monkeypatch.setattr("wassermix.transport.barycenter.DEBIAS_UPDATES", 10)  # POT's number
    found = grid_barycenter(images, None, 0.3, absolute=True, tolerance=1.0, max_iterations=10)
    expected = ot.bregman.convolutional_barycenter2d_debiased(
        images.numpy(), 0.3, stopThr=0, numItermax=10, warn=False
    )
    np.testing.assert_allclose(found.histogram, expected / expected.sum(), rtol=0.01)


def test_cloud_barycenter_is_no_worse_than_that_of_pot() -> None:
    clouds, start = [cloud(30, 2, s) + 3 * s for s in range(3)], cloud(30, 2, 9)
    found = cloud_barycenter(clouds, start=start, tolerance=1e-6)
    uniform = [np.full(30, 1 / 30)] * 3
    expected = ot.lp.free_support_barycenter(
        [c.numpy() for c in clouds], uniform, start.numpy(), numItermax=100
    )

    def spread(points: torch.Tensor) -> float:
        return sum(float(solve_exact(points, c).cost) for c in clouds)

    assert spread(found.points) <= spread(torch.from_numpy(expected)) * 1.001
