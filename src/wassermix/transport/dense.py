"""The solver in torch: for GPUs, for machines without Numba, and for relaxed marginals."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.transport.anderson import Step, accelerate
from wassermix.transport.constants import ABSORB, FINE, FRESH_STARTS, LOWEST
from wassermix.transport.problem import Problem, Solution

__all__ = ["solve_dense"]


def solve_dense(problem: Problem) -> Solution:
    """Solve all problems at once; the whole cost of this batch is held in memory."""
    scaled = problem.cost.block() / problem.eps[:, None, None]
    g = scaled.amin(1) if problem.start is None else problem.start / problem.eps[:, None]
    target, iterations = 0.98 * problem.tolerance, torch.zeros_like(problem.eps, dtype=torch.int64)
    for _ in range(FRESH_STARTS):
        step: Step = Absorbed(problem, scaled) if problem.rho is None else Relaxed(problem, scaled)
        left = problem.max_iterations - int(iterations.max())
        g, count = accelerate(step, g, tolerance=target, max_iterations=left)
        iterations = iterations + count
        found = _finish(problem, scaled, g, iterations)
        if bool((found.error <= problem.tolerance).all()) or int(iterations.max()) >= problem.max_iterations:
            break
        target /= 2
    return found


class Absorbed:
    """A Sinkhorn update through ``K_ij = b_j exp(g_j - C_ij / eps - top_i)``, rebuilt when ``g`` moves far.

    Only products with a row vector on the left are made, of ``K`` and of a transposed copy: on CPUs a batched
    product with a column vector is several times slower.
    """

    def __init__(self, problem: Problem, scaled: Tensor) -> None:
        self.a, self.b, self.scaled = problem.a, problem.b, scaled
        self.kind = torch.float64 if problem.tolerance < FINE else torch.float32
        self.base: Tensor | None = None
        self.kernel = self.turned = scaled  # until the first call

    def keep(self, which: Tensor) -> None:
        """Go on with these problems only."""
        self.a, self.b, self.scaled = self.a[which], self.b[which], self.scaled[which]
        if self.base is not None:
            self.base, self.kernel, self.turned = self.base[which], self.kernel[which], self.turned[which]

    def __call__(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The next ``g`` and the L1 error of the present one."""
        if self.base is None or bool(((g - self.base).abs() > ABSORB).any()):
            self._absorb(g)
        assert self.base is not None
        held = self.b > 0
        v = torch.where(held, (g - self.base).exp(), 0.0).to(self.kind)
        u = self.a.to(self.kind)[:, None] / (v[:, None] @ self.turned)
        c = (u @ self.kernel).squeeze(1).double()
        new = torch.where(held, self.base + (self.b / c).log(), g)
        return new, (v * c - self.b).abs().sum(-1)

    def _absorb(self, g: Tensor) -> None:
        exponent = (g + self.b.log())[:, None] - self.scaled
        exponent -= exponent.amax(-1, keepdim=True)
        self.kernel = exponent.clamp_min_(LOWEST).to(self.kind).exp_()
        self.turned, self.base = self.kernel.mT.contiguous(), g


class Relaxed:
    """A Sinkhorn update in the log domain where marginals may give way at the price ``rho`` (KL)."""

    def __init__(self, problem: Problem, scaled: Tensor) -> None:
        assert problem.rho is not None
        self.a, self.b, self.scaled, self.rho = problem.a, problem.b, scaled, problem.rho / problem.eps

    def keep(self, which: Tensor) -> None:
        """Go on with these problems only."""
        self.a, self.b, self.scaled, self.rho = (
            part[which] for part in (self.a, self.b, self.scaled, self.rho)
        )

    def __call__(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The next ``g`` and how far the columns are from what the present one calls for.

        In L1, as a share of the plan's mass: only so is it as good for a thousandth of the mass.
        """
        rho = self.rho[:, None]
        give = rho / (rho + 1)
        f = give * soft_minimum(self.scaled, self.b, g)
        reached = soft_minimum(self.scaled.mT, self.a, f)
        moved, called = (g - reached).exp(), (-g / rho).exp()
        return give * reached, (self.b * (moved - called).abs()).sum(-1) / _mass(self.b * moved)


def soft_minimum(scaled: Tensor, weights: Tensor, potential: Tensor) -> Tensor:
    """``-log sum_j b_j exp(g_j - C_ij / eps)`` for each row: ``(p, n, m), (p, m), (p, m) -> (p, n)``."""
    return -((potential + weights.log())[:, None] - scaled).logsumexp(-1)


def _finish(problem: Problem, scaled: Tensor, g: Tensor, iterations: Tensor) -> Solution:
    """The best ``f`` for ``g``, ``g`` for targets without weight, and the error of both, recomputed."""
    eps, rho = problem.eps[:, None], None if problem.rho is None else (problem.rho / problem.eps)[:, None]
    give = 1.0 if rho is None else rho / (rho + 1)
    f = give * soft_minimum(scaled, problem.b, g)
    if bool((problem.b == 0).any()):
        g = torch.where(problem.b > 0, g, give * soft_minimum(scaled.mT, problem.a, f))
    masses = problem.a.log()[:, :, None] + problem.b.log()[:, None]  # in logarithms: 0 times infinity is NaN
    plan = (f[:, :, None] + g[:, None] - scaled).add_(masses).exp_()
    error = (plan.sum(-1) - _target(problem.a, f, rho)).abs().sum(-1)
    error = error + (plan.sum(-2) - _target(problem.b, g, rho)).abs().sum(-1)
    if rho is not None:
        error = error / _mass(plan.flatten(1))
    return Solution(f * eps, g * eps, iterations, error, (plan * scaled).sum((-1, -2)) * problem.eps)


def _mass(parts: Tensor) -> Tensor:
    """The sum over the last dimension, safe to divide by."""
    return parts.sum(-1).clamp_min(torch.finfo(parts.dtype).tiny)


def _target(weights: Tensor, potential: Tensor, rho: Tensor | None) -> Tensor:
    """The marginal that a potential calls for: the weights, or ``a exp(-f / rho)`` where it may give way."""
    return weights if rho is None else weights * (-potential / rho).exp()
