"""What is asked of a solver, what it gives back, and the checks that come before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.transport.cost import Cost

__all__ = ["Problem", "Solution", "epsilon", "normalised_weights"]

MOST_DIGITS = 1e14  # costs in units of entropy are exponents: beyond this they are off by more than 0.01


@dataclass(frozen=True)
class Problem:
    """A flat batch of ``p`` entropic problems, detached from every graph."""

    cost: Cost
    """With one batch dimension: blocks are ``(p, rows, m)``."""
    a: Tensor
    """Weights of the sources, float64 ``(p, n)``."""
    b: Tensor
    """Weights of the targets, float64 ``(p, m)``."""
    eps: Tensor
    """Sinkhorn's epsilon in units of cost, float64 ``(p,)``."""
    rho: Tensor | None
    """Price of mass that appears or vanishes, in units of cost ``(p,)``; None: marginals are strict."""
    start: Tensor | None
    """A first guess of ``g`` in units of cost, float64 ``(p, m)``."""
    tolerance: float
    max_iterations: int

    def part(self, which: slice) -> Problem:
        """Some of the problems."""
        return replace(
            self,
            cost=self.cost.at(which),
            a=self.a[which],
            b=self.b[which],
            eps=self.eps[which],
            rho=None if self.rho is None else self.rho[which],
            start=None if self.start is None else self.start[which],
        )

    def fits_float32(self) -> bool:
        """Whether float32 costs are good for the tolerance: their rounding moves exponents ``C / eps``."""
        bound = self.cost.bound()
        exponent = float((bound / self.eps).max())
        return exponent * 2.0**-24 < self.tolerance / 4 and 1e-30 < float(bound.max()) < 1e30


@dataclass(frozen=True)
class Solution:
    """Potentials in units of cost and how good they are, one row per problem, all float64."""

    f: Tensor
    g: Tensor
    iterations: Tensor
    error: Tensor
    cost: Tensor

    @staticmethod
    def joined(parts: list[Solution]) -> Solution:
        """The solutions of a batch that was solved in parts."""
        names = ("f", "g", "iterations", "error", "cost")
        return Solution(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def normalised_weights(
    weights: Tensor | None, name: str, cost: Cost, *, count: int, normalise: bool = True
) -> Tensor:
    """Weights as float64 ``(..., count)`` that sum to 1 (with ``normalise``); None is uniform."""
    shape = (*cost.batch, count)
    if weights is None:
        return torch.full(shape, 1 / count, dtype=torch.float64, device=cost.device)
    if weights.shape[-1:] != (count,):
        raise InputError(
            f"{name}: got shape {tuple(weights.shape)}; expected (..., {count}), one weight per point"
        )
    weights = weights.to(cost.device).double().expand(shape)
    total = weights.sum(-1, keepdim=True)
    if not bool((weights >= 0).all() & (total > 0).all() & total.isfinite().all()):
        raise InputError(f"{name}: weights must be finite, not negative and not all zero")
    return weights / total if normalise else weights


def epsilon(entropy: float | Tensor, mean: Tensor, largest: Tensor, *, absolute: bool) -> Tensor:
    """Sinkhorn's epsilon in units of cost, one for each problem, float64 ``(p,)``.

    ``entropy`` is a number or ``(p,)``; ``mean`` and ``largest`` are the mean and the largest cost, ``(p,)``.
    """
    valid = (entropy > 0) & (entropy < torch.inf)
    if not bool(valid.all() if isinstance(valid, Tensor) else valid):
        raise InputError(f"entropy: got {entropy}; expected a positive finite number (or use solve_exact)")
    eps = entropy * (torch.ones_like(mean) if absolute else _unit(mean, largest))
    if not float((largest / eps.detach()).max()) <= MOST_DIGITS:
        raise InputError(
            f"entropy: {float((eps / largest).min()):.2g} of the largest cost leaves the plan no digits of "
            "float64; raise it, or use solve_exact"
        )
    return eps


def _unit(mean: Tensor, largest: Tensor) -> Tensor:
    """What entropy is a share of: the mean cost, or the largest where the mean vanishes."""
    least = 1e-12  # below, only points without weight are apart, if any
    if float((mean.detach() / largest).min()) > least:
        return mean
    if bool((mean < 0).any()):
        raise InputError("cost: its mean is negative, so entropy cannot be a share of it; use absolute=True")
    return torch.where(mean <= least * largest, torch.where(largest > 0, largest, 1.0), mean)
