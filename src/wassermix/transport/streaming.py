"""The solver for clouds whose cost matrix does not fit: rows are made, used and dropped in every sweep."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.jit import available
from wassermix.transport.anderson import accelerate
from wassermix.transport.problem import Problem, Solution

__all__ = ["solve_streaming"]

BLOCK_BYTES = 2**25  # rows at a time: enough for a fast matrix product, little enough for the cache


def solve_streaming(problem: Problem) -> Solution:
    """Solve the problems one by one in memory proportional to ``n + m``."""
    if problem.rho is not None:
        raise InputError(
            "relax: marginals can only give way where the cost matrix fits into memory; "
            "raise the memory budget"
        )
    return Solution.joined([_solve_one(problem.part(slice(k, k + 1))) for k in range(len(problem.a))])


def _solve_one(problem: Problem) -> Solution:
    step = Streamed(problem)
    eps = problem.eps[:, None]
    start = torch.zeros_like(problem.b) if problem.start is None else problem.start / eps
    g, iterations = accelerate(
        step, start, tolerance=0.98 * problem.tolerance, max_iterations=problem.max_iterations
    )
    _, error = step(g)  # also leaves the rows' potential and the cost that belong to g
    g = _extended(problem, step.f, g)
    return Solution(step.f * eps, g * eps, iterations, error, step.total)


def _extended(problem: Problem, f: Tensor, g: Tensor) -> Tensor:
    """The potential of targets without weight, ``-log sum_i a_i exp(f_i - C_ij / eps)``, one at a time."""
    turned, g = problem.cost.transposed(), g.clone()
    for j in (problem.b[0] == 0).nonzero().flatten().tolist():
        cost = turned.block(slice(j, j + 1))[0, 0]
        g[0, j] = -(f[0] + problem.a[0].log() - cost / problem.eps).logsumexp(-1)
    return g


class Streamed:
    """A Sinkhorn update of one problem that sees its cost matrix a block of rows at a time."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.kind = torch.float32 if problem.fits_float32() else torch.float64
        n, m = problem.cost.size
        rows = max(1, BLOCK_BYTES // (self.kind.itemsize * m))
        self.blocks = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
        self.compiled = available() and problem.a.device.type == "cpu"

    def keep(self, which: Tensor) -> None:
        """There is one problem only, and it is going on."""

    def __call__(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """The next ``g`` and the L1 error of the present one; leaves ``f`` and the cost of the plan."""
        problem = self.problem
        shift = torch.where(problem.b > 0, g + problem.b.log(), -torch.inf)[0]
        c, self.f = torch.zeros_like(shift), torch.empty_like(problem.a)
        total = 0.0
        for rows in self.blocks:
            cost = problem.cost.block(rows, self.kind)[0]
            total += (
                self._compiled(cost, shift, rows, c) if self.compiled else self._torch(cost, shift, rows, c)
            )
        self.total = torch.full_like(problem.eps, total)
        new = torch.where(problem.b > 0, g + (problem.b / c).log(), g)
        return new, (c - problem.b).abs().sum(-1)

    def _compiled(self, cost: Tensor, shift: Tensor, rows: slice, columns: Tensor) -> float:
        from wassermix.transport.kernels import stream_rows

        matrix = cost.contiguous().numpy()
        kind = matrix.dtype.type
        rate, line = kind(1 / float(self.problem.eps)), np.empty(matrix.shape[1], matrix.dtype)
        own = shift.numpy().astype(matrix.dtype)
        a, f = self.problem.a[0, rows].numpy(), self.f[0, rows].numpy()
        return float(stream_rows(matrix, a, own, rate, f, columns.numpy(), line))

    def _torch(self, cost: Tensor, shift: Tensor, rows: slice, columns: Tensor) -> float:
        exponent = shift - cost.double() / self.problem.eps
        f = -exponent.logsumexp(-1)
        plan = (exponent + f[:, None]).exp() * self.problem.a[0, rows, None]
        self.f[0, rows] = f
        columns += plan.sum(0)
        return float((plan * cost).sum())
