"""Exact and entropic transport on problems whose answers are known."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

from generators.transport_problems import Known, check_coupling, cloud, known, translations
from wassermix.transport import EntropicMap, solve_coupling, solve_exact

few = settings(max_examples=30, deadline=None, derandomize=True)


@few
@given(known)
def test_exact_transport_finds_the_known_cost_and_map(problem: Known) -> None:
    coupling = solve_exact(problem.z0, problem.z1)
    check_coupling(coupling)
    assert float(coupling.cost) == pytest.approx(problem.cost, rel=1e-9, abs=1e-9)
    assert float(coupling.gap.max()) < 1e-12
    torch.testing.assert_close(coupling.push(problem.z1), problem.image, atol=1e-6, rtol=1e-6)


@few
@given(known)
def test_entropic_cost_lies_between_the_exact_one_and_that_of_no_plan(problem: Known) -> None:
    coupling = solve_coupling(problem.z0, problem.z1, 0.02)
    check_coupling(coupling, slack=1e-5)  # float32 costs round by some 1e-6
    assert bool(coupling.converged)
    mean = float(coupling.ground.mean(coupling.weights0, coupling.weights1))
    assert problem.cost - 1e-3 * mean - 1e-12 <= float(coupling.cost) <= mean * (1 + 1e-3) + 1e-12
    assert float(coupling.cost) <= float(coupling.value) + 1e-3 * mean


@few
@given(translations())
def test_debiased_map_is_exact_for_translations(problem: Known) -> None:
    fitted = EntropicMap(entropy=0.1, tolerance=1e-9, debiased=True).fit(problem.z0, problem.z1)
    torch.testing.assert_close(fitted.map(problem.z0), problem.image, atol=1e-5, rtol=1e-5)
    elsewhere = problem.z0 + 0.3
    torch.testing.assert_close(fitted.map(elsewhere), problem.image + 0.3, atol=1e-5, rtol=1e-5)


@few
@given(known)
def test_laws_of_symmetry_scaling_translation_and_order(problem: Known) -> None:
    z0, z1 = problem.z0, problem.z1
    first = solve_coupling(z0, z1, 0.2, tolerance=1e-8)
    torch.testing.assert_close(
        solve_coupling(z1, z0, 0.2, tolerance=1e-8).plan.T, first.plan, atol=1e-7, rtol=0
    )
    scaled = solve_coupling(3 * z0 + 7, 3 * z1 + 7, 0.2, tolerance=1e-8)
    torch.testing.assert_close(scaled.plan, first.plan, atol=1e-7, rtol=0)
    torch.testing.assert_close(scaled.value, 9 * first.value, atol=1e-5, rtol=1e-5)
    order = torch.randperm(len(z0), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        solve_coupling(z0[order], z1, 0.2, tolerance=1e-8).plan, first.plan[order], atol=1e-7, rtol=0
    )


def test_a_repeated_point_is_a_point_of_double_weight() -> None:
    z0, z1 = cloud(6, 2, 0), cloud(5, 2, 1)
    twice = torch.cat([z0, z0[:1]])
    weights = torch.tensor([2.0, 1, 1, 1, 1, 1])
    together = solve_coupling(z0, z1, 0.05, weights0=weights, tolerance=1e-9)
    apart = solve_coupling(twice, z1, 0.05, tolerance=1e-9)
    torch.testing.assert_close(apart.plan[0] + apart.plan[6], together.plan[0], atol=1e-8, rtol=0)


def test_points_without_weight_change_nothing_but_have_potentials() -> None:
    z0, z1 = cloud(6, 2, 0), cloud(5, 2, 1)
    far = torch.cat([z1, 100 + cloud(2, 2, 2)])
    weights = torch.tensor([1.0, 1, 1, 1, 1, 0, 0])
    for backend in ("compiled", "torch", "streaming"):
        with_them = solve_coupling(
            z0, far, 1.0, absolute=True, weights1=weights, tolerance=1e-9, backend=backend
        )
        without = solve_coupling(z0, z1, 1.0, absolute=True, tolerance=1e-9, backend=backend)
        torch.testing.assert_close(with_them.plan[:, :5], without.plan, atol=1e-9, rtol=0)
        assert bool((with_them.plan[:, 5:] == 0).all())
        # the potential of a target is the soft minimum of its costs, with weight or without
        cost = with_them.ground.block()
        expected = -(with_them.f[:, None] + with_them.weights0.log()[:, None] - cost).logsumexp(0)
        torch.testing.assert_close(with_them.g, expected, atol=1e-6, rtol=1e-6)
