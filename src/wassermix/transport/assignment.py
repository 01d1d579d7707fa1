"""The assignment problem compiled for the CPU, after Jonker and Volgenant (1987), from given prices."""

from __future__ import annotations

from typing import Any

import numpy as np

from wassermix.core.jit import FAST, compiled

__all__ = ["assign"]


@compiled(FAST)
def _two_lowest(cost: Any, v: Any) -> tuple[int, float, float]:
    """Where ``cost - v`` is lowest, how low, and the second lowest value."""
    at, first, second = 0, np.inf, np.inf
    for j in range(cost.shape[0]):
        value = cost[j] - v[j]
        if value < second:
            if value < first:
                at, first, second = j, value, first
            else:
                second = value
    return at, first, second


@compiled(FAST)
def _bid(cost: Any, v: Any, row_of: Any, column_of: Any, free: Any, count: int) -> int:
    """Each free row takes its cheapest column, whose price falls until the row would as soon have the second.

    Rows that lose their column wait for the next round. Returns how many are free.
    """
    waiting = 0
    for k in range(count):
        i = free[k]
        at, first, second = _two_lowest(cost[i], v)
        v[at] -= second - first if second < np.inf else 0.0
        loser = row_of[at]
        row_of[at], column_of[i] = i, at
        if loser >= 0:
            column_of[loser] = -1
            free[waiting] = loser
            waiting += 1
    return waiting


@compiled(FAST)
def _augment(cost: Any, v: Any, row_of: Any, column_of: Any, start: int) -> None:
    """Give row ``start`` a column along the shortest alternating path, by Dijkstra on reduced costs."""
    m = v.shape[0]
    distance, before, ready = cost[start] - v, np.full(m, start), np.zeros(m, np.bool_)
    while True:
        at, lowest = -1, np.inf
        for j in range(m):
            if not ready[j] and distance[j] < lowest:
                at, lowest = j, distance[j]
        ready[at] = True
        i = row_of[at]
        if i < 0:
            break
        offset = cost[i, at] - v[at] - lowest
        line = cost[i]
        for j in range(m):
            through = line[j] - v[j] - offset
            if not ready[j] and through < distance[j]:
                distance[j], before[j] = through, i
    for j in range(m):
        if ready[j]:
            v[j] += distance[j] - lowest
    while True:
        i = before[at]
        row_of[at], column_of[i], at = i, at, column_of[i]
        if i == start:
            return


@compiled(FAST)
def assign(cost: Any, g: Any, column_of: Any, f: Any) -> float:
    """The cheapest assignment of ``n`` rows to ``n`` columns, from prices ``g`` near optimal.

    Leaves the assignment in ``column_of`` and optimal duals in ``f`` and ``g``. Returns the worst violation
    of ``f_i + g_j <= C_ij`` over all pairs: 0, up to rounding, proves the assignment optimal.
    """
    n = cost.shape[0]
    row_of, free = np.full(n, -1), np.arange(n)
    column_of[:] = -1
    count = n
    for _ in range(6):
        count = _bid(cost, g, row_of, column_of, free, count)
    for i in range(n):
        if column_of[i] < 0:
            _augment(cost, g, row_of, column_of, i)
    worst = 0.0
    for i in range(n):
        f[i] = cost[i, column_of[i]] - g[column_of[i]]
        lowest = np.inf
        for j in range(n):
            lowest = min(lowest, cost[i, j] - g[j])
        worst = max(worst, f[i] - lowest)
    return worst
