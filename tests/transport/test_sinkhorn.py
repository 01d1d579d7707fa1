"""Entropic transport against POT, exact transport and what is known in closed form."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch

from wassermix.errors import InputError
from wassermix.transport import BarycentricMap, EntropicMap, GaussianMap, PairMap, solve_coupling, solve_exact


def clouds(n: int = 20, m: int = 15, d: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=draw), torch.randn(m, d, generator=draw) + 1


@pytest.mark.parametrize("entropy", [0.1, 0.02])
def test_plan_is_that_of_pot(entropy: float) -> None:
    z0, z1 = clouds()
    coupling = solve_coupling(z0.double(), z1.double(), entropy, tolerance=1e-9)
    cost = ot.dist(z0.double().numpy(), z1.double().numpy())
    plan = ot.sinkhorn(
        [], [], cost, entropy * cost.mean(), method="sinkhorn_log", stopThr=1e-11, numItermax=20000
    )
    np.testing.assert_allclose(coupling.plan.numpy(), plan, atol=1e-8)
    assert bool(coupling.converged)


def test_batch_equals_loop() -> None:
    z0, z1 = (
        torch.stack([clouds(seed=s)[0] for s in range(3)]),
        torch.stack([clouds(seed=s)[1] for s in range(3)]),
    )
    together = solve_coupling(z0, z1)
    for k in range(3):
        alone = solve_coupling(z0[k], z1[k])
        torch.testing.assert_close(together.plan[k], alone.plan, atol=1e-6, rtol=1e-4)


def test_unconverged_problem_says_so() -> None:
    with pytest.warns(UserWarning, match="did not converge"):
        coupling = solve_coupling(*clouds(), 0.001, max_iterations=2)
    assert not bool(coupling.converged)


def test_nan_is_refused() -> None:
    z0, z1 = clouds()
    z0[0, 0] = float("nan")
    with pytest.raises(InputError, match="finite"):
        solve_coupling(z0, z1)


def test_entropic_map_equals_the_barycentric_one_on_fitted_points() -> None:
    z0, z1 = clouds()
    expected = BarycentricMap().fit(z0, z1).map(z0)
    torch.testing.assert_close(EntropicMap().fit(z0, z1).map(z0), expected, atol=1e-5, rtol=1e-4)


def test_gaussian_map_carries_mean_and_covariance() -> None:
    z0, z1 = clouds(200, 100)
    image = GaussianMap().fit(z0, z1).map(z0)
    torch.testing.assert_close(image.mean(0), z1.mean(0), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(image.T.cov(correction=0), z1.T.cov(correction=0), atol=1e-5, rtol=1e-5)


def test_pair_map_pairs_in_order() -> None:
    z0, z1 = clouds(6, 4)
    assert torch.equal(PairMap().fit(z0, z1).map(z0), z1[[0, 1, 2, 3, 0, 1]])


@pytest.mark.parametrize(("n", "m"), [(15, 15), (20, 15)])
def test_exact_cost_is_that_of_emd(n: int, m: int) -> None:
    z0, z1 = clouds(n, m)
    expected = ot.emd2([], [], ot.dist(z0.double().numpy(), z1.double().numpy()))
    assert float(solve_exact(z0, z1).cost) == pytest.approx(expected, rel=1e-9)
