"""Problems of a few points at small entropy: where extrapolation goes astray, plain steps must take over."""

from __future__ import annotations

import warnings

import pytest
import torch

from wassermix.transport import solve_coupling
from wassermix.transport.sinkhorn import Backend


@pytest.mark.parametrize("backend", ["compiled", "torch"])
@pytest.mark.parametrize("seed", [1, 66, 249, 259])
def test_clouds_that_led_extrapolation_astray_converge(seed: int, backend: Backend) -> None:
    generator = torch.Generator().manual_seed(seed)
    z0, z1 = torch.randn(5, 8, generator=generator), torch.randn(4, 8, generator=generator) + 1
    assert bool(solve_coupling(z0, z1, 0.02, tolerance=1e-4, backend=backend).converged)


@pytest.mark.parametrize("entropy", [0.1, 0.02, 0.001])
def test_tiny_problems_converge_at_any_entropy(entropy: float) -> None:
    generator = torch.Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            n, m = torch.randint(1, 9, (2,), generator=generator).tolist()
            solve_coupling(
                torch.rand(n, 196, generator=generator), torch.rand(m, 196, generator=generator), entropy
            )
