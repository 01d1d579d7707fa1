"""Plans between reference and new samples: exact, or relaxed so that the classes' shares may change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy

from wassermix.drift.views import Floats, Ints

__all__ = ["RelaxedPlan", "carried", "exact_plan", "relaxed_plan"]

TINY = 1e-300


def exact_plan(cost: Floats) -> Floats:
    """The optimal plan ``(n, m)`` with uniform marginals: an assignment where ``n = m``."""
    n, m = cost.shape
    if n == m:
        paired = np.zeros_like(cost)
        paired[linear_sum_assignment(cost)] = 1 / n
        return paired
    import ot

    plan: Floats = ot.emd(np.full(n, 1 / n), np.full(m, 1 / m), cost, numItermax=100_000_000)
    return plan


@dataclass(frozen=True, eq=False)
class RelaxedPlan:
    """A plan whose columns are uniform and whose classes may have grown or shrunk."""

    plan: Floats
    """``(n, m)``, columns sum to ``1/m``."""
    growth: Floats
    """``(k,)``: the factor by which each class's share has changed (1 for classes that the rows lack)."""
    converged: bool
    objective: float
    """``<P, C>`` and the price of growth, without the entropy."""


def relaxed_plan(
    cost: Floats,
    classes: Ints,
    *,
    entropy: float = 0.02,
    relax: float = 0.1,
    scale: float | None = None,
    max_iterations: int = 500,
    tolerance: float = 1e-3,
) -> RelaxedPlan:
    """The entropic plan in which every class of the rows may change its share, at a price.

    ``min <P, C> + e KL(P | a x b) + r sum_c share_c KL(w_c | 1)`` over plans with columns ``b_j = 1/m`` and
    rows ``a_i w_c(i)``, ``a_i = 1/n``: within a class all samples keep equal mass, as label shift has it,
    while ``w_c`` is the class's growth. ``e = entropy * scale``, ``r = relax * scale``, by default ``scale =
    mean(C)``; ``relax = inf`` gives the balanced entropic plan. Solved by scaling: with the columns'
    potential fixed, the growth has the closed form ``log w_c = e / (e + r) * mean over the class of log s_i``
    up to a constant, where ``s_i`` is the mass that row ``i`` would draw.
    """
    scale = (float(cost.mean()) if scale is None else scale) or 1.0
    n, m = cost.shape
    lowered = cost - cost.min(axis=0)
    rows = lowered.min(axis=1)
    kernel = np.exp(-(lowered - rows[:, None]) / (entropy * scale))
    offset = rows / (entropy * scale)
    share = 1.0 if np.isinf(relax) else entropy / (entropy + relax)
    before = u = np.ones(n)
    v, growth = np.full(m, 1 / m), np.ones(int(classes.max()) + 1)
    for step in range(1, max_iterations + 1):
        drawn = kernel @ v
        growth = (
            np.ones_like(growth)
            if np.isinf(relax)
            else _growth(np.log(drawn + TINY) - offset, classes, share)
        )
        before, u = u, growth[classes] / (n * (drawn + TINY))
        v = 1 / (m * (kernel.T @ u + TINY))
        if step % 10 == 0 and _settled(before, u, tolerance):
            break
    plan = u[:, None] * kernel * v
    price = 0.0 if np.isinf(relax) else relax * scale * _price(growth[classes])
    return RelaxedPlan(plan, growth, _settled(before, u, tolerance), float((plan * cost).sum()) + price)


def _growth(log_drawn: Floats, classes: Ints, share: float) -> Floats:
    """Growth of each class, scaled so that the whole mass stays 1."""
    counts = np.bincount(classes)
    log_w = share * np.bincount(classes, weights=log_drawn) / np.maximum(counts, 1)
    present = counts > 0
    w = np.exp(log_w - log_w[present].max())
    return np.where(present, w * len(classes) / (w * counts).sum(), 1.0)


def _price(growth: Floats) -> float:
    """``sum_c share_c (w_c log w_c - w_c + 1)``, from each sample's own growth."""
    return float(np.mean(xlogy(growth, growth) - growth + 1))


def _settled(before: Floats, now: Floats, tolerance: float) -> bool:
    moved = np.log(now / before)
    return bool(np.abs(moved - np.median(moved)).max() < tolerance)


def carried(plan: Floats, labels: Ints, predicted: Ints) -> Floats:
    """The share ``(m,)`` of each new sample's mass that carries the label which the model decides for."""
    total = plan.sum(axis=0)
    agreeing = (plan * (labels[:, None] == predicted)).sum(axis=0)
    share: Floats = np.divide(agreeing, total, out=np.zeros_like(total), where=total > 0)
    return share
