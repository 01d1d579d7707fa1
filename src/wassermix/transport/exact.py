"""Exact optimal transport: assignment for equal uniform clouds, the network simplex for the rest."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from wassermix.transport.cost import Cost, PointCost
from wassermix.transport.coupling import Coupling
from wassermix.transport.problem import normalised_weights

__all__ = ["solve_exact"]


def solve_exact(
    z0: Tensor, z1: Tensor, *, weights0: Tensor | None = None, weights1: Tensor | None = None
) -> Coupling:
    """The optimal plan itself: ``min <P, C>`` over plans with the given marginals, no entropy.

    ``z0 (..., n, d)``, ``z1 (..., m, d)``; problems of a batch are solved one by one.
    """
    cost = PointCost(z0, z1)
    cost.check()
    n, m = cost.size
    a = normalised_weights(weights0, "weights0", cost, count=n)
    b = normalised_weights(weights1, "weights1", cost, count=m)
    matrices = cost.block().reshape(-1, n, m).cpu().numpy()
    uniform = weights0 is None and weights1 is None and n == m
    solved = [
        _assign(matrix) if uniform else _simplex(matrix, a_k, b_k)
        for matrix, a_k, b_k in zip(matrices, a.reshape(-1, n).cpu().numpy(), b.reshape(-1, m).cpu().numpy())
    ]
    plan, f, g = (torch.as_tensor(np.stack(part)).to(cost.device) for part in zip(*solved))
    return _result(cost, a, b, plan.reshape(*cost.batch, n, m), f=f.reshape(a.shape), g=g.reshape(b.shape))


def _assign(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = linear_sum_assignment(matrix)
    plan = np.zeros_like(matrix)
    plan[rows, columns] = 1 / len(matrix)
    return plan, np.zeros(len(matrix)), np.zeros(len(matrix))


def _simplex(matrix: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import ot

    plan, log = ot.emd(a.copy(), b.copy(), matrix, log=True, numItermax=10_000_000)
    return plan, log["u"], log["v"]


def _result(cost: Cost, a: Tensor, b: Tensor, plan: Tensor, *, f: Tensor, g: Tensor) -> Coupling:
    error = (plan.sum(-1) - a).abs().sum(-1) + (plan.sum(-2) - b).abs().sum(-1)
    return Coupling(
        ground=cost,
        weights0=a,
        weights1=b,
        f=f,
        g=g,
        entropy=torch.zeros_like(error),
        cost=(plan * cost.block()).sum((-1, -2)),
        marginal_error=error,
        iterations=torch.zeros_like(error, dtype=torch.int64),
        tolerance=1e-9,
        given_plan=plan,
    )
