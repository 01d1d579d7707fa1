"""Anderson acceleration of a batched fixed-point iteration."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from wassermix.transport.constants import MEMORY

__all__ = ["Step", "accelerate"]

RIDGE = 1e-9
LEAP = 25.0  # an extrapolation that leads further than this, in units of entropy, is not taken


class Step(Protocol):
    """One full Sinkhorn update for a batch of problems, potentials in units of entropy."""

    def __call__(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """From ``g (p, m)`` the next ``g (p, m)``, and the L1 error ``(p,)`` of the plan of the first."""

    def keep(self, which: Tensor) -> None:
        """Go on with these problems only; ``which`` indexes the present ones."""


def accelerate(step: Step, start: Tensor, *, tolerance: float, max_iterations: int) -> tuple[Tensor, Tensor]:
    """Iterate ``step`` from ``start (p, m)`` until each problem's error is within ``tolerance``.

    Returns the last ``g (p, m)`` that was measured and the iterations ``(p,)`` of each problem. Finished
    problems leave the batch.
    """
    result, iterations = start.clone(), torch.zeros(len(start), dtype=torch.int64, device=start.device)
    present, g = torch.arange(len(start), device=start.device), start
    memory = _Memory(start)
    for count in range(1, max_iterations + 1):
        new, error = step(g)
        iterations[present], result[present] = count, g
        going = error > tolerance
        if not bool(going.any()):
            break
        if not bool(going.all()):
            which = going.nonzero().squeeze(-1)
            present, g, new, error = present[which], g[which], new[which], error[which]
            step.keep(which)
            memory.keep(which)
        g = memory.mix(g, new, error)
    return result, iterations


class _Memory:
    """The last points and residuals of each problem, newest last, and how many of them count."""

    def __init__(self, start: Tensor) -> None:
        count, size = start.shape
        self.points = start.new_zeros(count, MEMORY, size)
        self.residuals = start.new_zeros(count, MEMORY, size)
        self.stored = torch.zeros(count, dtype=torch.int64, device=start.device)
        self.rest, self.penalty = torch.zeros_like(self.stored), torch.ones_like(self.stored)
        self.best = start.new_full((count,), torch.inf)
        self.lowest = self.best.clone()

    def keep(self, which: Tensor) -> None:
        self.points, self.residuals = self.points[which], self.residuals[which]
        self.stored, self.rest, self.penalty = self.stored[which], self.rest[which], self.penalty[which]
        self.best, self.lowest = self.best[which], self.lowest[which]

    def judge(self, error: Tensor) -> None:
        """How many remembered points may be mixed, from how the last mixture fared.

        One that led astray is followed by plain steps, which never make it worse: twice as many as the time
        before, until there is real progress again. So the iteration ends where the plain one does.
        """
        progress = error < self.lowest / 2
        self.lowest = torch.where(progress, error, self.lowest)
        self.penalty = torch.where(progress, 1, self.penalty)
        astray = ~(error <= 3 * self.best)
        self.rest = torch.where(astray, self.penalty, self.rest)
        self.penalty = torch.where(astray, 2 * self.penalty, self.penalty)
        self.best = torch.where(astray, error, torch.minimum(self.best, error))
        self.stored = torch.where(self.rest > 0, 1, (self.stored + 1).clamp_max(MEMORY))
        self.rest = (self.rest - 1).clamp_min(0)

    def mix(self, g: Tensor, new: Tensor, error: Tensor) -> Tensor:
        """The mixture of remembered points whose mixed residual is smallest."""
        self.points = torch.cat([self.points[:, 1:], new[:, None]], 1)
        self.residuals = torch.cat([self.residuals[:, 1:], (new - g)[:, None]], 1)
        self.judge(error)
        counts = torch.arange(MEMORY, 0, -1, device=g.device) <= self.stored[:, None]  # (p, MEMORY)
        gram = self.residuals @ self.residuals.mT * (counts[:, :, None] & counts[:, None, :])
        trace = gram.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None]
        gram = gram + torch.diag_embed(torch.where(counts, RIDGE * trace + 1e-300, 1.0))
        weights = torch.linalg.solve_ex(gram, counts.to(gram))[0]
        weights = weights / weights.sum(-1, keepdim=True)
        mixed: Tensor = (weights[:, None] @ self.points).squeeze(1)
        near = ((mixed - new).abs().amax(-1) <= LEAP)[:, None]  # NaN is not near
        self.stored = torch.where(near[:, 0], self.stored, 1)
        return torch.where(near, mixed, new)
