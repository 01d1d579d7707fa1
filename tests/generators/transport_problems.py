"""Transport problems with known answers, as hypothesis strategies, and the one check of a coupling."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from wassermix.transport import Coupling


@dataclass(frozen=True)
class Known:
    """Two clouds whose exact transport is known."""

    name: str
    z0: Tensor
    z1: Tensor
    cost: float
    """The exact transport cost."""
    image: Tensor
    """Where each point of ``z0`` goes, ``(n, d)``."""


def cloud(n: int, d: int, seed: int) -> Tensor:
    """Points of a standard normal, float64."""
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@st.composite
def translations(draw: st.DrawFn) -> Known:
    """A cloud and its copy elsewhere: every point moves by the same vector."""
    n, d, seed = draw(st.integers(1, 24)), draw(st.integers(1, 6)), draw(st.integers(0, 10**6))
    z, shift = cloud(n, d, seed), draw(st.floats(-5, 5)) * cloud(1, d, seed + 1)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return Known("translation", z, (z + shift)[order], float(shift.square().sum()), z + shift)


@st.composite
def permutations(draw: st.DrawFn) -> Known:
    """A cloud far apart and its copy in another order, slightly moved: each point goes to its copy."""
    n, d, seed = draw(st.integers(1, 20)), draw(st.integers(1, 5)), draw(st.integers(0, 10**6))
    z = torch.zeros(n, d, dtype=torch.float64)
    z[:, 0] = 10 * torch.arange(n)
    near = z + 0.1 * cloud(n, d, seed).clamp(-3, 3)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return Known("permutation", z, near[order], float((near - z).square().sum(-1).mean()), near)


@st.composite
def sorted_lines(draw: st.DrawFn) -> Known:
    """Points on a line: the k-th smallest goes to the k-th smallest."""
    n, seed = draw(st.integers(1, 30)), draw(st.integers(0, 10**6))
    z0, z1 = cloud(n, 1, seed), 2 * cloud(n, 1, seed + 1) + 1
    image = torch.empty_like(z0)
    image[z0[:, 0].argsort()] = z1.sort(0).values
    return Known("line", z0, z1, float((image - z0).square().sum(-1).mean()), image)


@st.composite
def diracs(draw: st.DrawFn) -> Known:
    """All mass to one point."""
    n, d, seed = draw(st.integers(1, 20)), draw(st.integers(1, 5)), draw(st.integers(0, 10**6))
    z, target = cloud(n, d, seed), cloud(1, d, seed + 1)
    cost = float((z - target).square().sum(-1).mean())
    return Known("dirac", z, target, cost, target.expand(n, d))


@st.composite
def gradients_of_convex(draw: st.DrawFn) -> Known:
    """Points and their image under the gradient of a convex quadratic, which is the optimal map."""
    n, d, seed = draw(st.integers(1, 20)), draw(st.integers(1, 4)), draw(st.integers(0, 10**6))
    root, z = cloud(d, d, seed), cloud(n, d, seed + 1)
    image = z @ (root @ root.T + 0.1 * torch.eye(d, dtype=torch.float64)) + cloud(1, d, seed + 2)
    return Known("convex", z, image, float((image - z).square().sum(-1).mean()), image)


known = st.one_of(translations(), permutations(), sorted_lines(), diracs(), gradients_of_convex())


def check_coupling(coupling: Coupling, *, slack: float | Tensor = 1e-9) -> None:
    """Whatever was solved: marginals as claimed, no negative mass, values in order, a repr that says it."""
    plan = coupling.plan.double()
    a, b = coupling.weights0.detach(), coupling.weights1.detach()
    assert bool(plan.isfinite().all())
    assert bool((plan >= 0).all())
    error = (plan.sum(-1) - a).abs().sum(-1) + (plan.sum(-2) - b).abs().sum(-1)
    matrix = coupling.ground.block()
    scale = matrix.amax((-1, -2)).clamp_min(1e-300)
    if coupling.given_plan is None:  # exponents C / entropy have so many digits, and the plan no more
        slack = slack + 1e-15 * scale / coupling.entropy.detach()
    assert bool((error <= 1.1 * coupling.marginal_error + slack).all()), (error, coupling)
    assert bool((coupling.marginal_error <= 1.1 * error + slack).all()), (error, coupling)
    assert bool((((plan * matrix).sum((-1, -2)) - coupling.cost).abs() / scale <= 1e-5 + slack).all())
    assert f"of {coupling.converged.numel()}, marginal_error" in repr(coupling)
