"""The coupling: who goes where, how much it costs, and whether the solver got there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.transport.cost import Cost, PointCost

__all__ = ["Coupling"]

BLOCK_ENTRIES = 2**22  # of the plan at a time, where it is not asked for as a whole


@dataclass(frozen=True, repr=False, eq=False)
class Coupling:
    """An optimal coupling of ``n`` sources with ``m`` targets, for a batch ``(...)`` of problems.

    With entropy, the plan is ``P_ij = a_i b_j exp((f_i + g_j - C_ij) / entropy)``, made on demand.
    """

    ground: Cost
    """The cost that was solved for."""
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
    """L1 error of both marginals added up, recomputed from the potentials returned, float64 ``(...)``.

    Where marginals may give way: against those that the potentials call for, as a share of the plan's mass.
    """
    iterations: Tensor
    """Sweeps over the cost matrix, ``(...)``."""
    tolerance: float
    """The ``marginal_error`` that was asked for."""
    relax: Tensor | None = None
    """Price of mass that appears or vanishes, in units of cost ``(...)``; None where marginals are strict."""
    gap: Tensor | None = None
    """Exact couplings: how far ``<P, C>`` is from its dual bound, a share of the largest cost ``(...)``."""
    given_plan: Tensor | None = None
    """The plan itself where it does not come from potentials (exact couplings), float64 ``(..., n, m)``."""

    @property
    def converged(self) -> Tensor:
        """Whether each problem reached the tolerance (exact: and is proven optimal), bool ``(...)``."""
        fits = self.marginal_error <= self.tolerance
        return fits if self.gap is None else fits & (self.gap <= self.tolerance)

    @property
    def plan(self) -> Tensor:
        """``P (..., n, m)`` in the type of the points."""
        return self._rows(slice(None)).to(self.ground.dtype)

    @property
    def value(self) -> Tensor:
        """``<P, C> + entropy * KL(P | a x b)``, float64 ``(...)``, differentiable.

        Computed as the dual, whose error is the square of that of the potentials. Relaxed marginals add
        ``relax * (KL(P 1 | a) + KL(P^T 1 | b))``. The gradient with respect to points, weights and cost is
        that of the optimal value (envelope theorem): nothing is unrolled.
        """
        if self.given_plan is not None:
            return self._with_gradient(self.cost)
        return self._with_gradient(self._dual())

    def times(self, values: Tensor) -> Tensor:
        """``P values``: ``(..., m, k) -> (..., n, k)``, the plan made and dropped in blocks of rows."""
        return torch.cat([rows @ values.to(rows.dtype) for rows in self._blocks()], -2).to(values.dtype)

    def turned_times(self, values: Tensor) -> Tensor:
        """``P^T values``: ``(..., n, k) -> (..., m, k)``."""
        return self.reversed().times(values)

    def push(self, values: Tensor) -> Tensor:
        """For each source the average of ``values (..., m, k)`` over its targets: ``diag(P 1)^-1 P values``.

        With ``values = z1`` this is the barycentric projection (Eq. 11 of the paper, normalised); it is
        differentiable in ``values``. The plan is never held.
        """
        return torch.cat([_averages(rows, values) for rows in self._blocks(normal=True)], -2)

    def pull(self, values: Tensor) -> Tensor:
        """For each target the average of ``values (..., n, k)`` over its sources."""
        return self.reversed().push(values)

    def reversed(self) -> Coupling:
        """The same coupling seen from the targets."""
        return Coupling(
            ground=self.ground.transposed(), weights0=self.weights1, weights1=self.weights0,
            f=self.g, g=self.f, entropy=self.entropy, cost=self.cost, marginal_error=self.marginal_error,
            iterations=self.iterations, tolerance=self.tolerance, relax=self.relax, gap=self.gap,
            given_plan=None if self.given_plan is None else self.given_plan.mT,
        )  # fmt: skip

    def divergence(self) -> Tensor:
        """The debiased value ``V(0, 1) - V(0, 0) / 2 - V(1, 1) / 2`` at this entropy, float64 ``(...)``.

        Not negative, 0 between equal clouds, differentiable. Solves a problem of each cloud with itself.
        """
        from wassermix.transport.sinkhorn import Sinkhorn

        if self.relax is not None:
            raise InputError("divergence: marginals are relaxed here; solve without relax for a divergence")
        if not isinstance(self.ground, PointCost):
            raise InputError(
                "divergence: a cost matrix does not say what it costs to stay; give points instead"
            )
        solver = Sinkhorn(entropy=self.entropy, absolute=True, tolerance=self.tolerance)
        z0, z1 = self.ground.z0, self.ground.z1
        own0 = solver.solve(PointCost(z0, z0), self.weights0, self.weights0)
        own1 = solver.solve(PointCost(z1, z1), self.weights1, self.weights1)
        return self.value - own0.value / 2 - own1.value / 2

    def __getitem__(self, index: int | slice | Tensor) -> Coupling:
        """One problem, or some, of a batch."""
        fields = ("weights0", "weights1", "f", "g", "entropy", "cost", "marginal_error", "iterations")
        chosen = {name: getattr(self, name)[index] for name in fields}
        for name in ("relax", "gap", "given_plan"):
            value = getattr(self, name)
            chosen[name] = None if value is None else value[index]
        return replace(self, ground=self.ground.at(index), **chosen)

    def _blocks(self, *, normal: bool = False) -> Iterator[Tensor]:
        n, m = self.ground.size
        step = max(1, BLOCK_ENTRIES // (m * max(1, self.ground.batch.numel())))
        for start in range(0, n, step):
            yield self._rows(slice(start, start + step), normal=normal)

    def _rows(self, rows: slice, *, normal: bool = False) -> Tensor:
        """Rows of the plan; with ``normal`` scaled to sum 1, which rows without weight can be too."""
        if self.given_plan is not None:
            plan = self.given_plan[..., rows, :]
            return self._normal(plan, rows) if normal else plan
        a, b = self.weights0.detach()[..., rows, None], self.weights1.detach()[..., None, :]
        f, g, eps = self.f[..., rows, None], self.g[..., None, :], self.entropy.detach()[..., None, None]
        exponent = (f + g - self.ground.block(rows)) / eps + b.log()
        return exponent.softmax(-1) if normal else (exponent + a.log()).exp()

    def _normal(self, plan: Tensor, rows: slice) -> Tensor:
        """Rows of a given plan scaled to sum 1; one without weight goes where ``C_ij - g_j`` is lowest."""
        mass = plan.sum(-1, keepdim=True)
        if bool((mass > 0).all()):
            return plan / mass
        price = self.ground.block(rows) - self.g[..., None, :]
        price = price.masked_fill(self.weights1.detach()[..., None, :] == 0, torch.inf)
        nearest = torch.nn.functional.one_hot(price.argmin(-1), price.shape[-1]).to(plan)
        return torch.where(mass > 0, plan / mass, nearest)

    def _dual(self) -> Tensor:
        a, b = self.weights0.detach(), self.weights1.detach()
        if self.relax is None:
            return (a * self.f).sum(-1) + (b * self.g).sum(-1)
        rho = self.relax[..., None]
        given = sum((w * rho * (1 - (-p / rho).exp())).sum(-1) for w, p in ((a, self.f), (b, self.g)))
        mass = torch.stack([rows.sum((-1, -2)) for rows in self._blocks()]).sum(0)
        eps = self.entropy.detach()
        return torch.as_tensor(given) - eps * (mass - a.sum(-1) * b.sum(-1))

    def _with_gradient(self, value: Tensor) -> Tensor:
        """``value`` with its gradient at the optimum: in the points, the weights and the entropy."""
        parts = []
        if self.weights0.requires_grad or self.weights1.requires_grad:
            parts.append((self.weights0 * self._price(self.f, self.weights1)).sum(-1))
            parts.append((self.weights1 * self._price(self.g, self.weights0)).sum(-1))
        if self.entropy.requires_grad:
            eps = self.entropy.detach()
            parts.append((value.detach() - self.cost) / eps * self.entropy)
        moved = self.ground.moved(self) if self.ground.requires_grad else None
        for part in parts if moved is None else [*parts, moved]:
            value = value + part - part.detach()
        return value

    def _price(self, potential: Tensor, other: Tensor) -> Tensor:
        """The derivative of the value in each weight of one side: the potential, where marginals are strict.

        Relaxed, with ``rho``: ``rho (1 - exp(-f / rho)) + eps (|b| - exp(-f / rho))``.
        """
        if self.relax is None:
            return potential
        rho, eps = self.relax[..., None], self.entropy.detach()[..., None]
        left = (-potential / rho).exp()
        return rho * (1 - left) + eps * (other.detach().sum(-1, keepdim=True) - left)

    def __repr__(self) -> str:
        n, m = self.ground.size
        count = self.converged.numel()
        return (
            f"Coupling({count} problem{'s' if count > 1 else ''} of {n} x {m} points, "
            f"converged {int(self.converged.sum())} of {count}, "
            f"marginal_error {float(self.marginal_error.max()):.2g} (asked {self.tolerance:g}), "
            f"iterations {int(self.iterations.max())}, entropy {_span(self.entropy)}, "
            f"cost {_span(self.cost)})"
        )


def _averages(rows: Tensor, values: Tensor) -> Tensor:
    return (rows @ values.to(rows.dtype)).to(values.dtype)


def _span(values: Tensor) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} .. {high:.4g}"
