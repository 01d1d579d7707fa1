"""Exact pairing of many clouds at once, against scipy and against the proven solver."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from generators.transport_problems import cloud
from wassermix.core.errors import InputError
from wassermix.transport import assign, solve_exact


def clouds(problems: int, n: int, m: int, d: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    z0, z1 = cloud(problems * n, d, 0), 1.3 * cloud(problems * m, d, 1) + 0.5
    return z0.reshape(problems, n, d).to(dtype), z1.reshape(problems, m, d).to(dtype)


def total(z0: torch.Tensor, z1: torch.Tensor, partners: torch.Tensor) -> float:
    return float((z0.double() - z1.double()[partners]).square().sum())


@pytest.mark.parametrize("n", [1, 2, 5, 33, 64, 130])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_clouds_are_paired_one_to_one_at_scipys_cost(n: int, dtype: torch.dtype) -> None:
    z0, z1 = clouds(3, n, n, 4, dtype)
    for first, second, partners in zip(z0, z1, assign(z0, z1)):
        assert partners.sort().values.tolist() == list(range(n))
        matrix = torch.cdist(first.double(), second.double()).square().numpy()
        best = matrix[linear_sum_assignment(matrix)].sum()
        assert total(first, second, partners) == pytest.approx(best, rel=1e-5)


def test_ties_and_repeated_points_are_paired_at_scipys_cost() -> None:
    draw = np.random.default_rng(0)
    for n in (3, 40, 90):
        z0, z1 = (torch.from_numpy(draw.integers(0, 3, (n, 2)).astype(np.float32)) for _ in range(2))
        partners = assign(z0, z1)
        matrix = torch.cdist(z0, z1).square().numpy().round()
        assert partners.sort().values.tolist() == list(range(n))
        assert total(z0, z1, partners) == pytest.approx(matrix[linear_sum_assignment(matrix)].sum(), abs=1e-4)
    same = torch.zeros(50, 2)
    assert assign(same, same).sort().values.tolist() == list(range(50))


@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1e20, 1e100])
def test_the_pairing_does_not_depend_on_the_unit(scale: float) -> None:
    z0, z1 = clouds(2, 48, 48, 3, torch.float64)
    for first, second, partners in zip(z0, z1, assign(scale * z0, scale * z1)):
        best = float(solve_exact(first, second).cost) * 48
        assert total(first, second, partners) == pytest.approx(best, rel=1e-5)


def test_unequal_clouds_draw_partners_in_proportion_to_the_exact_plan() -> None:
    z0, z1 = (z[0] for z in clouds(1, 6, 4, 2, torch.float64))
    plan = solve_exact(z0, z1).plan * 6
    draws = 4000
    generator = torch.Generator().manual_seed(0)
    many = assign(z0.expand(draws, 6, 2), z1.expand(draws, 4, 2), generator=generator)
    shares = torch.nn.functional.one_hot(many, 4).double().mean(0)
    assert float((shares - plan).abs().max()) < 5 * 0.5 / draws**0.5  # five standard errors at most
    assert torch.equal(assign(z0, z1), plan.argmax(1))


def test_leading_dimensions_and_types_pass_through() -> None:
    z0, z1 = clouds(6, 10, 10, 3, torch.float32)
    together = assign(z0.reshape(2, 3, 10, 3), z1.reshape(2, 3, 10, 3).requires_grad_())
    assert together.shape == (2, 3, 10)
    assert together.dtype == torch.int64
    assert torch.equal(together.reshape(6, 10), assign(z0, z1))


def test_points_that_are_not_finite_are_refused() -> None:
    z = torch.full((4, 2), float("nan"))
    with pytest.raises(InputError, match="NaN"):
        assign(z, torch.zeros(4, 2))
