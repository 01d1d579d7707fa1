"""The CPU solver: compiled kernels, a share of the problems to each thread."""

from __future__ import annotations

import numpy as np
import torch

from wassermix.core.jit import available, in_threads
from wassermix.transport.constants import FINE
from wassermix.transport.cost import PointCost
from wassermix.transport.problem import Problem, Solution

__all__ = ["solve_compiled", "warm_up"]

CACHE = 2**20  # bytes of cost matrices made at a time


def warm_up() -> None:
    """Compile the kernels, or load them from Numba's cache, ahead of the first solve.

    Takes about half a minute once after installation, well under a second later. Call it before forking
    workers or timing a training step.
    """
    if not available():
        return
    weights, eps = torch.full((1, 4), 0.25, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    z = torch.rand(1, 4, 2, generator=torch.Generator().manual_seed(0))
    for tolerance, scale in ((1e-3, 1.0), (1e-4, 1e5), (1e-7, 1.0)):  # the three precisions in use
        solve_compiled(
            Problem(PointCost(scale * z, -scale * z), weights, weights, eps, None, None, tolerance, 5)
        )


def precision(problem: Problem) -> tuple[torch.dtype, type[np.floating]]:
    """The types of the cost matrix and of the kernel that the tolerance calls for."""
    kernel = np.float64 if problem.tolerance < FINE else np.float32
    coarse = kernel is np.float32 and problem.fits_float32()
    return (torch.float32 if coarse else torch.float64), kernel


def solve_compiled(problem: Problem) -> Solution:
    """Solve all problems, holding the cost of a few at a time."""
    cost_type, kernel_type = precision(problem)
    (count, n), (_, m) = problem.a.shape, problem.b.shape
    a, b = problem.a.contiguous().numpy(), problem.b.contiguous().numpy()
    eps, warm = problem.eps.contiguous().numpy(), problem.start is not None
    f, g, sweeps = np.empty((count, n)), np.empty((count, m)), np.empty(count, np.int64)
    error, cost = np.empty(count), np.empty(count)
    if problem.start is not None:
        g[:] = problem.start.numpy()
    matrices, together = problem.cost.matrices(cost_type), max(1, CACHE // (n * m * cost_type.itemsize))

    def run(which: slice) -> None:
        from wassermix.transport.kernels import solve_run

        kernel = np.empty((n, m), kernel_type)
        for start in range(which.start, which.stop, together):
            some = slice(start, min(start + together, which.stop))
            solve_run(
                matrices(some).contiguous().numpy(), a[some], b[some], eps[some], kernel, f[some], g[some],
                sweeps[some], error[some], cost[some], problem.tolerance, problem.max_iterations, warm,
            )  # fmt: skip

    in_threads(run, count, operations=count * n * m)
    return Solution(*(torch.from_numpy(part) for part in (f, g, sweeps, error, cost)))
