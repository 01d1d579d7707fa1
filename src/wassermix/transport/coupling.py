"""The coupling: who goes where, how much it costs, and whether the solver got there."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.transport.cost import Cost

__all__ = ["Coupling"]


@dataclass(frozen=True, repr=False, eq=False)
class Coupling:
    """An (entropic) optimal coupling of ``n`` sources with ``m`` targets, for a batch ``(...)`` of problems.

    The plan is ``P_ij = a_i b_j exp((f_i + g_j - C_ij) / entropy)``, made on demand.
    """

    ground: Cost
    weights0: Tensor
    """``a``, float64 ``(..., n)``."""
    weights1: Tensor
    """``b``, float64 ``(..., m)``."""
    f: Tensor
    """Dual potential of the sources in units of cost, float64 ``(..., n)``."""
    g: Tensor
    """Dual potential of the targets in units of cost, float64 ``(..., m)``."""
    entropy: Tensor
    """Sinkhorn's epsilon in units of cost, float64 ``(...)``; 0 for an exact coupling."""
    cost: Tensor
    """``<P, C>``, float64 ``(...)``."""
    marginal_error: Tensor
    """L1 error of both marginals added up, recomputed from ``f`` and ``g`` in float64, ``(...)``."""
    iterations: Tensor
    """Sweeps over the cost matrix, ``(...)``."""
    tolerance: float
    """The ``marginal_error`` that was asked for."""
    given_plan: Tensor | None = None
    """The plan itself where it does not come from potentials (exact couplings)."""

    @property
    def converged(self) -> Tensor:
        """Whether each problem reached the tolerance, bool ``(...)``."""
        return self.marginal_error <= self.tolerance

    @property
    def plan(self) -> Tensor:
        """``P (..., n, m)`` in the type of the points."""
        return self._rows(slice(None)).to(self.ground.dtype)

    @property
    def value(self) -> Tensor:
        """``<P, C> + entropy * KL(P | a x b)``, by the dual ``<a, f> + <b, g>``, ``(...)``."""
        if self.given_plan is not None:
            return self.cost
        return (self.weights0 * self.f).sum(-1) + (self.weights1 * self.g).sum(-1)

    def push(self, values: Tensor) -> Tensor:
        """For each source the average of ``values (..., m, k)`` over its targets: ``diag(P 1)^-1 P values``.

        With ``values = z1`` this is the barycentric projection (Eq. 11 of the paper). Rows are made in
        blocks: the plan is never held.
        """
        n, m = self.ground.size
        step = max(1, min(n, 2**24 // m))
        parts = []
        for start in range(0, n, step):
            plan = self._rows(slice(start, start + step))
            parts.append(plan @ values.double() / plan.sum(-1, keepdim=True))
        return torch.cat(parts, -2).to(values.dtype)

    def pull(self, values: Tensor) -> Tensor:
        """For each target the average of ``values (..., n, k)`` over its sources."""
        return self.reversed().push(values)

    def reversed(self) -> Coupling:
        """The same coupling seen from the targets."""
        return Coupling(
            ground=self.ground.transposed(),
            weights0=self.weights1,
            weights1=self.weights0,
            f=self.g,
            g=self.f,
            entropy=self.entropy,
            cost=self.cost,
            marginal_error=self.marginal_error,
            iterations=self.iterations,
            tolerance=self.tolerance,
            given_plan=None if self.given_plan is None else self.given_plan.mT,
        )

    def _rows(self, rows: slice) -> Tensor:
        if self.given_plan is not None:
            return self.given_plan[..., rows, :]
        exponent = self.f[..., rows, None] + self.g[..., None, :] - self.ground.block(rows)
        mass = self.weights0[..., rows, None] * self.weights1[..., None, :]
        return mass * (exponent / self.entropy[..., None, None]).exp()

    def __repr__(self) -> str:
        n, m = self.ground.size
        batch = "x".join(map(str, self.ground.batch)) or "1"
        return (
            f"Coupling({batch} problem(s) of {n} x {m} points, converged {int(self.converged.sum())} of "
            f"{self.converged.numel()}, marginal_error <= {float(self.marginal_error.max()):.2g} "
            f"(asked {self.tolerance:g}), iterations <= {int(self.iterations.max())}, "
            f"entropy {_span(self.entropy)}, cost {_span(self.cost)})"
        )


def _span(values: Tensor) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"
