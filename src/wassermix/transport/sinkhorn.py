"""Entropic optimal transport: many problems in one call, each to the accuracy that was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, Unpack, get_args

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.jit import available
from wassermix.transport.compiled import solve_compiled
from wassermix.transport.cost import Cost, MatrixCost, PointCost, joint_points
from wassermix.transport.coupling import Coupling
from wassermix.transport.dense import solve_dense
from wassermix.transport.problem import Problem, Solution, epsilon, normalised_weights
from wassermix.transport.streaming import solve_streaming

__all__ = ["Sinkhorn", "sinkhorn_divergence", "solve_cost", "solve_coupling", "solve_couplings"]

Backend = Literal["auto", "compiled", "torch", "streaming"]


class SolverOptions(TypedDict, total=False):
    """The options of :class:`Sinkhorn` besides the entropy, for functions that pass them on."""

    absolute: bool
    relax: float | None
    tolerance: float
    max_iterations: int
    backend: Backend
    memory: int


@dataclass(frozen=True, kw_only=True)
class Sinkhorn:
    """A configured solver of ``min <P, C> + entropy KL(P | a x b)`` over plans with marginals ``a, b``."""

    entropy: float | Tensor = 0.02
    """A share of the mean cost; a number, or one for each problem ``(...)``."""
    absolute: bool = False
    """``entropy`` and ``relax`` are in units of cost instead."""
    relax: float | None = None
    """Price of mass that appears or vanishes (KL), a share of the mean cost: marginals then give way to
    outliers. None: marginals are strict and weights are normalised."""
    tolerance: float = 1e-4
    """The L1 error of both marginals added up at which a problem is done (with ``relax``, as a share of the
    plan's mass)."""
    max_iterations: int = 10_000
    """Sweeps over the cost matrix after which a problem is given up, with a warning."""
    backend: Backend = "auto"
    """``compiled`` (CPU), ``torch`` (any device), ``streaming`` (no cost matrix); ``auto`` picks."""
    memory: int = 2**31
    """Bytes that cost matrices may take; larger batches are solved in parts, larger problems streamed."""

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise InputError(f"tolerance: got {self.tolerance}; expected a positive number such as 1e-4")
        if self.max_iterations < 1:
            raise InputError(f"max_iterations: got {self.max_iterations}; expected at least 1")
        if self.backend not in get_args(Backend):
            known = ", ".join(get_args(Backend))
            raise InputError(f"backend: got {self.backend!r}; expected one of {known}")
        if self.relax is not None and not self.relax > 0:
            raise InputError(f"relax: got {self.relax}; expected a positive number, or None (strict)")

    def solve(
        self,
        cost: Cost,
        weights0: Tensor | None = None,
        weights1: Tensor | None = None,
        *,
        start: Coupling | Tensor | None = None,
        warn: bool = True,
    ) -> Coupling:
        """The coupling for a cost; ``start`` is an earlier coupling, or its ``g (..., m)``, near this one.

        ``warn=False`` leaves the warning about problems that did not converge to the caller.
        """
        flat, (n, m), batch = cost.flat(), cost.size, cost.batch
        flat.check()
        strict = self.relax is None
        a = normalised_weights(weights0, "weights0", cost, count=n, normalise=strict)
        b = normalised_weights(weights1, "weights1", cost, count=m, normalise=strict)
        even = weights0 is weights1 is None and not cost.requires_grad
        mean = flat.mean(None, None) if even else cost.mean(a, b).reshape(-1)
        if not strict:
            mean = mean / (a.sum(-1) * b.sum(-1)).reshape(-1)
        eps = self._in_units(self.entropy, flat, mean, batch)
        rho = None if self.relax is None else self._in_units(self.relax, flat, mean.detach(), batch)
        problem = Problem(
            cost=flat,
            a=a.detach().reshape(-1, n),
            b=b.detach().reshape(-1, m),
            eps=eps.detach(),
            rho=rho,
            start=_first_guess(start, (*batch, m)),
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
        found = self._run(problem)
        coupling = Coupling(
            ground=cost, weights0=a, weights1=b, f=found.f.reshape(a.shape), g=found.g.reshape(b.shape),
            entropy=eps.reshape(batch), cost=found.cost.reshape(batch),
            marginal_error=found.error.reshape(batch), iterations=found.iterations.reshape(batch),
            tolerance=self.tolerance, relax=None if rho is None else rho.reshape(batch),
        )  # fmt: skip
        if warn:
            warn_unconverged([coupling])
        return coupling

    def _in_units(self, entropy: float | Tensor, flat: Cost, mean: Tensor, batch: torch.Size) -> Tensor:
        """Entropy in units of cost, one number for each problem of ``flat``."""
        if isinstance(entropy, Tensor):
            entropy = entropy.to(mean).expand(batch).reshape(-1)
        return epsilon(entropy, mean, flat.bound(), absolute=self.absolute)

    def _run(self, problem: Problem) -> Solution:
        n, m = problem.cost.size
        one = 12 * n * m  # bytes: the cost in float64 and a float32 kernel
        if self.backend == "streaming" or (self.backend == "auto" and one > self.memory):
            return solve_streaming(problem)
        compiled = self.backend == "compiled" or (
            self.backend == "auto" and available() and problem.a.device.type == "cpu"
        )
        if compiled and problem.rho is None:
            return solve_compiled(problem)
        step, count = max(1, self.memory // one), len(problem.a)
        if step >= count:
            return solve_dense(problem)
        return Solution.joined([solve_dense(problem.part(slice(k, k + step))) for k in range(0, count, step)])


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
    start: Coupling | Tensor | None = None,
    **options: Unpack[SolverOptions],
) -> Coupling:
    """Couple the clouds ``z0 (..., n, d)`` and ``z1 (..., m, d)`` at squared Euclidean cost.

    Weights ``(..., n)`` and ``(..., m)`` are uniform unless given. Labels, integers ``(..., n)`` or soft
    ``(..., n, k)``, add ``label_weight * |y0 - y1|^2 / 2`` to the cost. ``options`` are those of
    :class:`Sinkhorn`: ``absolute``, ``relax``, ``tolerance``, ``max_iterations``, ``backend`` and ``memory``;
    ``start`` is that of :meth:`Sinkhorn.solve`. A problem that misses ``tolerance`` says so in the result and
    in one warning::

        coupling = solve_coupling(z0, z1, entropy=0.02)
        image = coupling.push(z1)          # where each point of z0 goes
    """
    z0, z1 = _with_labels(z0, z1, labels0, labels1, label_weight=label_weight)
    return Sinkhorn(entropy=entropy, **options).solve(PointCost(z0, z1), weights0, weights1, start=start)


def solve_cost(
    cost: Tensor,
    entropy: float | Tensor = 0.02,
    *,
    weights0: Tensor | None = None,
    weights1: Tensor | None = None,
    start: Coupling | Tensor | None = None,
    **options: Unpack[SolverOptions],
) -> Coupling:
    """As :func:`solve_coupling`, for any cost matrix ``(..., n, m)``."""
    return Sinkhorn(entropy=entropy, **options).solve(MatrixCost(cost), weights0, weights1, start=start)


def solve_couplings(
    pairs: Sequence[tuple[Tensor, Tensor]],
    solver: Sinkhorn | None = None,
    *,
    weights: Sequence[tuple[Tensor | None, Tensor | None]] | None = None,
) -> list[Coupling]:
    """Couplings of pairs of clouds ``(n, d), (m, d)`` whose sizes differ from pair to pair.

    Pairs of one size are solved together; there is one warning for all that did not converge.
    ``solver.entropy`` may hold one number per pair; ``weights`` one pair of weights for each pair of clouds.
    """
    solver = solver or Sinkhorn()
    costs = [PointCost(z0, z1) for z0, z1 in pairs]
    given = list(weights) if weights is not None else [(None, None)] * len(costs)
    if len(given) != len(costs):
        raise InputError(f"weights: got {len(given)} pairs for {len(costs)} pairs of clouds; give one each")
    groups: dict[tuple[object, ...], list[int]] = {}
    for k, (cost, (a, b)) in enumerate(zip(costs, given)):
        key = (cost.z0.shape, cost.z1.shape, cost.dtype, cost.device, a is None, b is None)
        groups.setdefault(key, []).append(k)
    found: dict[int, Coupling] = {}
    for members in groups.values():
        together = _solve_together(solver, [costs[k] for k in members], [given[k] for k in members], members)
        found |= {k: together[position] for position, k in enumerate(members)}
    couplings = [found[k] for k in range(len(costs))]
    warn_unconverged(couplings)
    return couplings


def _solve_together(
    solver: Sinkhorn,
    costs: list[PointCost],
    weights: list[tuple[Tensor | None, Tensor | None]],
    members: list[int],
) -> Coupling:
    ground = PointCost(torch.stack([cost.z0 for cost in costs]), torch.stack([cost.z1 for cost in costs]))
    a = [pair[0] for pair in weights if pair[0] is not None]
    b = [pair[1] for pair in weights if pair[1] is not None]
    if isinstance(solver.entropy, Tensor) and solver.entropy.dim():
        solver = replace(solver, entropy=solver.entropy[members])
    return solver.solve(ground, torch.stack(a) if a else None, torch.stack(b) if b else None, warn=False)


def sinkhorn_divergence(
    z0: Tensor,
    z1: Tensor,
    entropy: float | Tensor = 0.02,
    *,
    weights0: Tensor | None = None,
    weights1: Tensor | None = None,
    absolute: bool = False,
    tolerance: float = 1e-4,
) -> Tensor:
    """The debiased value ``V(z0, z1) - V(z0, z0) / 2 - V(z1, z1) / 2``, float64 ``(...)``, differentiable.

    Not negative, and 0 between equal clouds. All three values share the entropy of the first.
    """
    solver = Sinkhorn(entropy=entropy, absolute=absolute, tolerance=tolerance)
    return solver.solve(PointCost(z0, z1), weights0, weights1).divergence()


def warn_unconverged(couplings: Sequence[Coupling]) -> None:
    """One warning for all problems that missed their tolerance."""
    if not all(bool(coupling.converged.all()) for coupling in couplings):
        missed = sum(int((~coupling.converged).sum()) for coupling in couplings)
        count = sum(coupling.converged.numel() for coupling in couplings)
        worst = max(float(coupling.marginal_error.max()) for coupling in couplings)
        warnings.warn(
            f"Sinkhorn did not converge for {missed} of {count} problem(s): "
            f"marginal_error up to {worst:.2g}, asked {couplings[0].tolerance:g}; "
            "raise max_iterations, entropy or tolerance",
            stacklevel=4,
        )


def _with_labels(
    z0: Tensor, z1: Tensor, labels0: Tensor | None, labels1: Tensor | None, *, label_weight: float
) -> tuple[Tensor, Tensor]:
    if labels0 is None and labels1 is None:
        return z0, z1
    if labels0 is None or labels1 is None:
        raise InputError("labels0 and labels1 belong together; one of them is missing")
    classes = max(y.shape[-1] if y.is_floating_point() else int(y.max()) + 1 for y in (labels0, labels1))
    return joint_points(z0, labels0, label_weight, classes), joint_points(z1, labels1, label_weight, classes)


def _first_guess(start: Coupling | Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    if start is None:
        return None
    g = start.g if isinstance(start, Coupling) else start
    if g.shape[-1] != shape[-1]:
        raise InputError(f"start: holds {g.shape[-1]} potentials for {shape[-1]} targets; give as many")
    if not bool(g.isfinite().all()):
        raise InputError("start: holds NaN or infinite potentials; leave it out")
    return g.detach().double().expand(shape).reshape(-1, shape[-1]).clone()
