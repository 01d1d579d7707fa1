"""Exact optimal transport: assignment for equal uniform clouds, the network simplex for the rest."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from wassermix.core.jit import available
from wassermix.transport.cost import Cost, MatrixCost, PointCost
from wassermix.transport.coupling import Coupling
from wassermix.transport.problem import normalised_weights
from wassermix.transport.sinkhorn import Sinkhorn

__all__ = ["solve_exact", "solve_exact_cost"]

# Good enough to make the search for the exact plan short, and cheap beside it.
NEAR = Sinkhorn(entropy=0.01, tolerance=0.03, max_iterations=200)
WORTH_A_GUESS = 64  # points: below, the exact solver is done before Sinkhorn is


def solve_exact(
    z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
) -> Coupling:
    """The optimal plan itself: ``min <P, C>`` over plans with the given marginals, no entropy.

    ``z0 (..., n, d)``, ``z1 (..., m, d)``, squared Euclidean cost. The result carries optimal potentials and
    ``gap``, the distance between ``<P, C>`` and its lower bound: 0, up to rounding, proves the plan optimal.
    """
    return _solve(PointCost(z0, z1), weights0, weights1)


def solve_exact_cost(
    cost: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
) -> Coupling:
    """As :func:`solve_exact`, for any cost matrix ``(..., n, m)``."""
    return _solve(MatrixCost(cost), weights0, weights1)


def _solve(cost: Cost, weights0: Tensor | None, weights1: Tensor | None) -> Coupling:
    cost.check()
    n, m = cost.size
    a = normalised_weights(weights0, "weights0", cost, count=n)
    b = normalised_weights(weights1, "weights1", cost, count=m)
    near, scale = _near(cost, a.detach(), b.detach()), _scale(cost)
    matrices = (cost.block() / scale[..., None, None]).reshape(-1, n, m).cpu().numpy()
    even = weights0 is None and weights1 is None and n == m
    solved = [
        _assign(matrix, g_k) if even else _simplex(matrix, a_k, b_k, g_k)
        for matrix, a_k, b_k, g_k in zip(matrices, _rows(a), _rows(b), _rows(near / scale[..., None]))
    ]
    plan, f, g = (torch.from_numpy(np.stack(part)).to(cost.device) for part in zip(*solved))
    f, g = f.reshape(a.shape) * scale[..., None], g.reshape(b.shape) * scale[..., None]
    return _result(cost, a, b, plan.reshape(*cost.batch, n, m), f=f, g=g)


def _scale(cost: Cost) -> Tensor:
    """A power of two near the largest cost, ``(...)``: solvers below work to absolute tolerances.

    Dividing by it rounds nothing.
    """
    bound = cost.bound()
    return torch.exp2(torch.where(bound > 0, bound, 1.0).log2().round())


def _rows(values: Tensor) -> np.ndarray:
    return values.detach().reshape(-1, values.shape[-1]).cpu().numpy()


def _near(cost: Cost, a: Tensor, b: Tensor) -> Tensor:
    """Potentials ``g`` near the optimal ones, from a short entropic solve."""
    n, m = cost.size
    if min(n, m) < WORTH_A_GUESS or bool((cost.mean(a, b) <= 0).any()):
        return torch.zeros_like(b)
    return NEAR.solve(cost, a, b, warn=False).g


def _assign(matrix: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if available():
        from wassermix.transport.assignment import assign_one

        columns, f, g = np.empty(len(matrix), np.int64), np.empty(len(matrix)), g.copy()
        assign_one(np.ascontiguousarray(matrix), g, columns, f)
    else:
        columns = linear_sum_assignment(matrix - g)[1]
        f, g = _duals(matrix, columns, g)
    plan = np.zeros_like(matrix)
    plan[np.arange(len(matrix)), columns] = 1 / len(matrix)
    return plan, f, g


def _duals(matrix: np.ndarray, columns: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Potentials that prove an assignment optimal: ``g`` falls until no pair is violated."""
    matched = matrix[np.arange(len(matrix)), columns]
    g = g.copy()
    for _ in range(len(matrix)):
        f = matched - g[columns]
        lower = np.minimum(g, (matrix - f[:, None]).min(0))
        if np.array_equal(lower, g):
            break
        g = lower
    return matched - g[columns], g


def _simplex(
    matrix: np.ndarray, a: np.ndarray, b: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import ot

    first = ((matrix - g).min(1), g) if g.any() else None
    plan, log = ot.emd(a.copy(), b.copy(), matrix, numItermax=100_000_000, log=True, potentials_init=first)
    return plan, log["u"], log["v"]


def _result(cost: Cost, a: Tensor, b: Tensor, plan: Tensor, *, f: Tensor, g: Tensor) -> Coupling:
    matrix, held = cost.block(), a.detach()
    # A lower bound whatever f and g are: lower f until no pair of points is violated.
    bound = (held * torch.minimum(f, (matrix - g.unsqueeze(-2)).amin(-1))).sum(-1) + (b.detach() * g).sum(-1)
    error = (plan.sum(-1) - held).abs().sum(-1) + (plan.sum(-2) - b.detach()).abs().sum(-1)
    total = (plan * matrix).sum((-1, -2))
    scale = cost.bound().clamp_min(torch.finfo(torch.float64).tiny)
    coupling = Coupling(
        ground=cost, weights0=a, weights1=b, f=f, g=g, entropy=torch.zeros_like(error), cost=total,
        marginal_error=error, iterations=torch.zeros_like(error, dtype=torch.int64), tolerance=1e-9,
        gap=((total - bound) / scale).abs(), given_plan=plan,
    )  # fmt: skip
    if not bool(coupling.converged.all()):
        warnings.warn(
            f"exact transport is not proven optimal: {coupling}; try float64 points, or rescale them",
            stacklevel=4,
        )
    return coupling
