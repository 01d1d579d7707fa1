"""Factors of squared distances: compiled, in torch and by subtraction; what is not finite shows."""

from __future__ import annotations

import pytest
import torch

from generators.transport_problems import cloud
from wassermix.transport.factors import Factors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled_factors_equal_those_of_torch_and_give_the_distances(dtype: torch.dtype) -> None:
    z0, z1 = cloud(2 * 9, 5, 0).reshape(2, 9, 5) + 100, cloud(2 * 7, 5, 1).reshape(2, 7, 5) + 100
    exact = (z0[:, :, None] - z1[:, None]).square().sum(-1)
    compiled, plain = Factors.of(z0, z1, dtype), Factors.of(z0.clone().requires_grad_(), z1, dtype)
    for made, expected in zip(compiled, plain):
        torch.testing.assert_close(made, expected, rtol=1e-4, atol=1e-4)
    digits = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close((compiled.left @ compiled.right.mT).double(), exact, **digits)
    torch.testing.assert_close(compiled.mean, exact.mean((-1, -2)), **digits)
    assert bool((exact.amax((-1, -2)) <= compiled.bound * (1 + 1e-5)).all())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
def test_a_bound_shows_what_is_not_finite(bad: float) -> None:
    z = cloud(6, 2, 0)[None].clone()
    z[0, 2, 1] = bad
    for z0, z1 in ((z, cloud(6, 2, 1)[None]), (cloud(6, 2, 1)[None], z)):
        assert not float(Factors.of(z0, z1, torch.float64).bound) < 1e300
