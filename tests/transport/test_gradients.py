"""Gradients of values and maps against finite differences."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from generators.transport_problems import cloud
from wassermix.core.errors import InputError
from wassermix.transport import EntropicMap, sinkhorn_divergence, solve_cost, solve_coupling, solve_exact


def differences(function: Callable[[Tensor], Tensor], x: Tensor, step: float = 1e-5) -> Tensor:
    """The gradient of a scalar function by central differences."""
    gradient = torch.empty_like(x)
    for k in range(x.numel()):
        move = torch.zeros_like(x).flatten()
        move[k] = step
        move = move.reshape(x.shape)
        gradient.view(-1)[k] = (function(x + move) - function(x - move)) / (2 * step)
    return gradient


def slope(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x), x)[0]


Z0, Z1 = cloud(6, 2, 0), cloud(5, 2, 1) + 0.5
WEIGHTS = torch.rand(5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.2
TIGHT = {"tolerance": 1e-11}


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("side", ["z0", "z1", "weights1"])
def test_gradient_of_the_value(side: str, absolute: bool) -> None:
    inputs = {"z0": Z0, "z1": Z1, "weights1": WEIGHTS}

    def value(x: Tensor) -> Tensor:
        given = inputs | {side: x}
        return solve_coupling(
            given["z0"], given["z1"], 0.2, weights1=given["weights1"], absolute=absolute, **TIGHT
        ).value

    torch.testing.assert_close(
        slope(value, inputs[side]), differences(value, inputs[side]), atol=1e-6, rtol=1e-5
    )


def test_gradient_with_respect_to_the_cost_is_the_plan() -> None:
    cost = (Z0[:, None] - Z1).square().sum(-1)

    def value(x: Tensor) -> Tensor:
        return solve_cost(x, 0.3, absolute=True, **TIGHT).value

    torch.testing.assert_close(slope(value, cost), differences(value, cost), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(slope(value, cost), solve_cost(cost, 0.3, absolute=True, **TIGHT).plan)


def test_gradient_of_the_divergence() -> None:
    def value(x: Tensor) -> Tensor:
        return sinkhorn_divergence(x, Z1, 0.3, absolute=True, **TIGHT)

    torch.testing.assert_close(slope(value, Z0), differences(value, Z0), atol=1e-6, rtol=1e-5)


def test_gradient_of_the_exact_cost() -> None:
    def value(x: Tensor) -> Tensor:
        return solve_exact(x, Z1).value

    torch.testing.assert_close(slope(value, Z0), differences(value, Z0), atol=1e-6, rtol=1e-5)


def test_gradient_of_the_map() -> None:
    direction = cloud(6, 2, 3)
    for debiased in (False, True):
        fitted = EntropicMap(entropy=0.2, debiased=debiased).fit(Z0, Z1)

        def along(x: Tensor, fitted: EntropicMap = fitted) -> Tensor:
            return (fitted.map(x) * direction).sum()

        torch.testing.assert_close(slope(along, Z0), differences(along, Z0), atol=1e-6, rtol=1e-5)


def test_nothing_is_recorded_where_no_gradient_is_wanted() -> None:
    coupling = solve_coupling(Z0, Z1)
    assert not coupling.value.requires_grad
    assert not coupling.plan.requires_grad


@pytest.mark.parametrize("side", ["weights0", "weights1", "z0"])
def test_gradient_of_the_value_with_relaxed_marginals(side: str) -> None:
    inputs = {"z0": Z0, "weights0": torch.linspace(0.5, 1.5, 6, dtype=torch.float64), "weights1": WEIGHTS}

    def value(x: Tensor) -> Tensor:
        given = inputs | {side: x}
        weights = {key: given[key] for key in ("weights0", "weights1")}
        return solve_coupling(given["z0"], Z1, 0.2, relax=0.5, absolute=True, **weights, **TIGHT).value

    torch.testing.assert_close(
        slope(value, inputs[side]), differences(value, inputs[side]), atol=1e-5, rtol=1e-4
    )


def test_a_divergence_needs_strict_marginals() -> None:
    with pytest.raises(InputError, match="without relax"):
        solve_coupling(Z0, Z1, 0.2, relax=0.5, absolute=True).divergence()
