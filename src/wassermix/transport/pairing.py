"""Exact pairing of many pairs of clouds: one partner for each point, without entropy's blur."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from wassermix.core.jit import available, in_threads
from wassermix.transport.compiled import CACHE
from wassermix.transport.cost import PointCost
from wassermix.transport.exact import solve_exact

__all__ = ["assign"]

WORTH_A_GUESS = 40  # points: below, bidding from the columns' minima is done before Sinkhorn is
NEAR_ENTROPY = 0.01  # of the mean cost: sharp enough that few rows are left without a column
NEAR_ERROR = 0.02
NEAR_SWEEPS = 40
SAFE = (1e-30, 1e30)  # squared distances outside are divided by their bound to stay in float32


def assign(z0: Tensor, z1: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    """For each point of ``z0 (..., n, d)`` its partner in ``z1 (..., m, d)``: indices ``(..., n)``, int64.

    Optimal transport at squared Euclidean cost. Clouds of one size are paired one to one at the least total
    cost, ``min_s sum_i |z0_i - z1_s(i)|^2`` over permutations ``s``, to the rounding of float32
    (:func:`solve_exact` is exact to float64 and proves it). Between clouds of different sizes the optimal
    plan splits points: each point then draws one of its targets in proportion to the plan, with
    ``generator``, or takes the one that receives most of it where none is given::

        partners = assign(z0, z1)                     # (16, 64), (16, 64) points each
        image = z1.gather(-2, partners[..., None].expand_as(z0))
    """
    cost = PointCost(z0.detach(), z1.detach())
    cost.check()
    n, m = cost.size
    if n == m:
        found = _one_to_one(cost.flat())
    else:
        plan = solve_exact(z0.detach(), z1.detach()).plan.reshape(-1, n, m)
        found = plan.argmax(-1) if generator is None else _drawn(plan.reshape(-1, m), generator)
    return found.reshape(*cost.batch, n).to(z0.device)


def _drawn(rows: Tensor, generator: torch.Generator) -> Tensor:
    chosen = torch.multinomial(rows.to(generator.device), 1, replacement=True, generator=generator)
    return chosen[:, 0]


def _one_to_one(cost: PointCost) -> Tensor:
    """Permutations ``(p, n)`` of a flat batch."""
    count, n = cost.batch[0], cost.size[0]
    bound = cost.bound().cpu()
    safe = bool(((bound > SAFE[0]) & (bound < SAFE[1])).all())
    matrices = cost.matrices(torch.float32 if safe else torch.float64)
    mean, columns = cost.mean(None, None).cpu(), np.empty((count, n), np.int64)
    together = max(1, CACHE // (4 * n * n))

    def run(which: slice) -> None:
        for start in range(which.start, which.stop, together):
            some = slice(start, min(start + together, which.stop))
            costs, unit = matrices(some).cpu(), mean[some]
            if not safe:
                scale = bound[some].clamp_min(torch.finfo(torch.float64).tiny)
                costs, unit = (costs / scale[:, None, None]).float(), unit / scale
            _solve(costs.contiguous().numpy(), unit.numpy(), columns[some])

    in_threads(run, count, operations=count * n * n)
    return torch.from_numpy(columns)


def _solve(costs: np.ndarray, mean: np.ndarray, columns: np.ndarray) -> None:
    """Fill ``columns (p, n)`` for float32 ``costs (p, n, n)``, from prices near the optimal ones."""
    if not available():
        for matrix, found in zip(costs, columns):
            found[:] = linear_sum_assignment(matrix)[1]
        return
    from wassermix.transport.assignment import assign_run
    from wassermix.transport.kernels import near_run

    n = costs.shape[1]
    if n < WORTH_A_GUESS or not bool((mean > 0).all()):
        prices = costs.min(1)
    else:
        near = np.empty(costs.shape[:2])
        rates = (1 / (NEAR_ENTROPY * mean)).astype(np.float32)
        near_run(costs, rates, np.empty((n, n), np.float32), near, NEAR_ERROR, NEAR_SWEEPS)
        prices = near.astype(np.float32)
    assign_run(costs, prices, columns)
