"""Entropic optimal transport: many problems in one call, each to the accuracy that was asked for."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from wassermix.errors import InputError
from wassermix.transport.cost import Cost, MatrixCost, PointCost, joint_points
from wassermix.transport.coupling import Coupling
from wassermix.transport.problem import epsilon, normalised_weights

__all__ = ["solve_cost", "solve_coupling"]


def solve_coupling(
    z0: Tensor,
    z1: Tensor,
    entropy: float | Tensor = 0.02,
    *,
    weights0: Tensor | None = None,
    weights1: Tensor | None = None,
    labels0: Tensor | None = None,
    labels1: Tensor | None = None,
    label_weight: float = 1.0,
    absolute: bool = False,
    tolerance: float = 1e-4,
    max_iterations: int = 10_000,
) -> Coupling:
    """Couple the clouds ``z0 (..., n, d)`` and ``z1 (..., m, d)`` at squared Euclidean cost.

    Minimises ``<P, C> + entropy * KL(P | a x b)`` over plans with marginals ``a`` and ``b``. ``entropy``
    is a share of the mean cost, a number or one for each problem ``(...)``; with ``absolute`` it is in
    units of cost. Weights ``(..., n)``, ``(..., m)`` are normalised to sum 1; None is uniform. Labels add
    ``label_weight * |y0 - y1|^2 / 2`` to the cost. A problem that misses ``tolerance`` (L1 error of both
    marginals) after ``max_iterations`` sweeps is reported in the result and in one warning.
    """
    if (labels0 is None) != (labels1 is None):
        raise InputError("labels0 and labels1 belong together; one of them is missing")
    if labels0 is not None and labels1 is not None:
        classes = _classes(labels0, labels1)
        z0 = joint_points(z0, labels0, label_weight, classes)
        z1 = joint_points(z1, labels1, label_weight, classes)
    return _solve(
        PointCost(z0, z1),
        entropy,
        weights0,
        weights1,
        absolute=absolute,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )


def solve_cost(
    cost: Tensor,
    entropy: float | Tensor = 0.02,
    *,
    weights0: Tensor | None = None,
    weights1: Tensor | None = None,
    absolute: bool = False,
    tolerance: float = 1e-4,
    max_iterations: int = 10_000,
) -> Coupling:
    """As :func:`solve_coupling`, for any cost matrix ``(..., n, m)``."""
    return _solve(
        MatrixCost(cost),
        entropy,
        weights0,
        weights1,
        absolute=absolute,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )


def _classes(labels0: Tensor, labels1: Tensor) -> int:
    return max(y.shape[-1] if y.is_floating_point() else int(y.max()) + 1 for y in (labels0, labels1))


def _solve(
    cost: Cost,
    entropy: float | Tensor,
    weights0: Tensor | None,
    weights1: Tensor | None,
    *,
    absolute: bool,
    tolerance: float,
    max_iterations: int,
) -> Coupling:
    n, m = cost.size
    a = normalised_weights(weights0, "weights0", cost.batch, count=n, device=cost.device)
    b = normalised_weights(weights1, "weights1", cost.batch, count=m, device=cost.device)
    eps = epsilon(entropy, cost.mean(a, b).detach(), absolute=absolute)
    matrix = cost.block()
    scaled = matrix / eps[..., None, None]
    f, g, iterations = _sweep(scaled, a, b, tolerance=tolerance, max_iterations=max_iterations)
    plan = a[..., None] * b[..., None, :] * (f[..., None] + g[..., None, :] - scaled).exp()
    error = (plan.sum(-1) - a).abs().sum(-1) + (plan.sum(-2) - b).abs().sum(-1)
    coupling = Coupling(
        ground=cost,
        weights0=a,
        weights1=b,
        f=f * eps[..., None],
        g=g * eps[..., None],
        entropy=eps,
        cost=(plan * matrix).sum((-1, -2)),
        marginal_error=error,
        iterations=iterations,
        tolerance=tolerance,
    )
    _warn(coupling)
    return coupling


def _sweep(
    scaled: Tensor, a: Tensor, b: Tensor, *, tolerance: float, max_iterations: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Alternate row and column updates of ``f/entropy`` and ``g/entropy`` until all columns fit."""
    log_a, log_b = a.log().unsqueeze(-1), b.log().unsqueeze(-2)
    g = torch.zeros_like(b)
    iterations = torch.zeros(a.shape[:-1], dtype=torch.int64, device=a.device)
    active = torch.ones_like(iterations, dtype=torch.bool)
    for _ in range(max_iterations):
        f = -(g.unsqueeze(-2) + log_b - scaled).logsumexp(-1)
        new = -(f.unsqueeze(-1) + log_a - scaled).logsumexp(-2)
        error = (b * ((g - new).exp() - 1).abs()).sum(-1)
        iterations += active
        active = active & (error > 0.9 * tolerance)
        if not bool(active.any()):
            break
        g = torch.where(active.unsqueeze(-1), new, g)
    return f, g, iterations


def _warn(coupling: Coupling) -> None:
    missed = int((~coupling.converged).sum())
    if missed:
        warnings.warn(
            f"Sinkhorn did not converge for {missed} of {coupling.converged.numel()} problem(s): "
            f"marginal_error {float(coupling.marginal_error.max()):.2g}, asked {coupling.tolerance:g}; "
            "raise max_iterations, entropy or tolerance",
            stacklevel=4,
        )
