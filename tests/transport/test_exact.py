"""The exact solver: independent of the unit, proven by its gap, and defined for sources without weight."""

from __future__ import annotations

import warnings

import ot
import pytest
import torch

from generators.transport_problems import cloud
from wassermix.transport import solve_exact


@pytest.mark.parametrize("scale", [1e-16, 1e-8, 1e-4, 1.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_plan_does_not_depend_on_the_unit(scale: float, weighted: bool) -> None:
    for seed in range(6):
        z0, z1 = cloud(23, 3, seed), cloud(17, 3, seed + 50) + 0.3
        a = torch.rand(23, generator=torch.Generator().manual_seed(seed)).double() if weighted else None
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "not proven optimal"
            coupling = solve_exact(scale * z0, scale * z1, weights0=a)
        wa = (coupling.weights0 / coupling.weights0.sum()).numpy()
        best = ot.emd2(wa, coupling.weights1.numpy(), ot.dist(z0.numpy(), z1.numpy()))
        assert float(coupling.cost) / scale**2 == pytest.approx(best, rel=1e-9)
        assert float(coupling.gap.max()) < 1e-12


def test_a_source_without_weight_goes_to_a_target_and_not_to_the_origin() -> None:
    z0, z1 = cloud(6, 2, 0) + 10, cloud(5, 2, 1) + 10
    weights0, weights1 = torch.tensor([1.0, 1, 0, 1, 1, 1]), torch.tensor([1.0, 1, 1, 1, 0])
    coupling = solve_exact(z0, z1, weights0=weights0, weights1=weights1)
    image = coupling.push(z1)
    price = (z0[2] - z1).square().sum(-1) - coupling.g
    assert torch.equal(image[2], z1[price[:4].argmin()])
    # with a little weight of its own it goes to that very place
    weights0[2] = 1e-9
    torch.testing.assert_close(
        solve_exact(z0, z1, weights0=weights0, weights1=weights1).push(z1)[2], image[2], atol=1e-6, rtol=1e-6
    )
