"""The assignment problem compiled for the CPU, after Jonker and Volgenant (1987), from given prices.

Values are compared as integers whose order is that of the floats: such minima vectorise, those of floats do
not. All that these functions call is in this file: Numba's cache notices no changes in others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from wassermix.core.jit import FAST, compiled

__all__ = ["assign_one", "assign_run"]

ROUNDS = 2  # of bidding before the shortest paths; more cost more than they save
BIDS = 4  # of a round, times the number of rows


@compiled(FAST)
def _key32(x: Any) -> Any:
    """An int32 in the order of float32, its own inverse on the bits."""
    bits = np.float32(x).view(np.int32)
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@compiled(FAST)
def _key64(x: Any) -> Any:
    """An int64 in the order of float64."""
    bits = np.float64(x).view(np.int64)
    return np.int64(bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF)))


@compiled(FAST)
def _float32(key: Any) -> Any:
    return np.int32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))).view(np.float32)


@compiled(FAST)
def _float64(key: Any) -> Any:
    return np.int64(key ^ ((key >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)


def _key(x: Any) -> Any:
    """The key of a float, in its precision."""


def _value(key: Any) -> Any:
    """The float of a key."""


@overload(_key)
def _key_of(x):  # type: ignore[no-untyped-def]  # Numba wants the very signature of the lambdas
    return (lambda x: _key32(x)) if x == types.float32 else (lambda x: _key64(x))


@overload(_value)
def _value_of(key):  # type: ignore[no-untyped-def]
    return (lambda key: _float32(key)) if key == types.int32 else (lambda key: _float64(key))


@compiled(FAST)
def _scan(cost: Any, v: Any, keys: Any) -> Any:
    """Fill in the keys of ``cost - v``; returns the first column with the lowest."""
    low = _key(cost[0] - v[0])
    for j in range(keys.shape[0]):
        key = _key(cost[j] - v[j])
        keys[j] = key
        low = min(low, key)
    return _place(keys, low)


@compiled(FAST)
def _lowest(keys: Any) -> Any:
    """The lowest key."""
    low = keys[0]
    for j in range(keys.shape[0]):
        low = min(low, keys[j])
    return low


@compiled(FAST)
def _place(keys: Any, key: Any) -> int:
    """The first column with this key."""
    j = 0
    while keys[j] != key:
        j += 1
    return j


@compiled(FAST)
def _bid(cost: Any, v: Any, row_of: Any, column_of: Any, free: Any, count: int, keys: Any) -> int:
    """Each free row takes its cheapest column, whose price falls until the second cheapest is as good.

    A row that loses its column bids next; one that would only tie waits. Returns how many are left in
    ``free``.
    """
    begun, waiting, bids = 0, 0, BIDS * v.shape[0]
    while begun < count and bids > 0:
        i = free[begun]
        begun, bids = begun + 1, bids - 1
        at = _scan(cost[i], v, keys)
        first, keys[at] = keys[at], np.iinfo(keys.dtype).max
        second = _lowest(keys)
        ahead = first < second
        if ahead:
            v[at] -= _value(second) - _value(first) if v.shape[0] > 1 else v.dtype.type(0)
        elif row_of[at] >= 0:
            at = _place(keys, second)
        loser = row_of[at]
        row_of[at], column_of[i] = i, at
        if loser >= 0:
            column_of[loser] = -1
            if ahead:
                begun -= 1
                free[begun] = loser
            else:
                free[waiting] = loser
                waiting += 1
    while begun < count:
        free[waiting] = free[begun]
        waiting, begun = waiting + 1, begun + 1
    return waiting


@compiled(FAST)
def _pass_through(line: Any, v: Any, offset: Any, row: Any, work: Any, before: Any) -> None:
    """Shorten distances that are not final by a way through ``row``."""
    final = work.dtype.type(np.inf)
    for j in range(v.shape[0]):
        through, old = line[j] - v[j] - offset, work[j]
        shorter = (through < old) & (old < final)
        work[j] = through if shorter else old
        before[j] = row if shorter else before[j]


@compiled(FAST)
def _augment(cost: Any, v: Any, row_of: Any, column_of: Any, start: int, work: Any, keys: Any) -> None:
    """Give row ``start`` a column along the shortest alternating path, by Dijkstra on reduced costs."""
    m = v.shape[0]
    before, order, distance, done = np.full(m, start), np.empty(m, np.int64), np.empty(m, v.dtype), 0
    nothing = np.zeros_like(v)
    for j in range(m):
        work[j] = cost[start, j] - v[j]
    while True:
        at = _scan(work, nothing, keys)
        lowest, i = work[at], row_of[at]
        if i < 0:
            break
        order[done], distance[done], work[at] = at, lowest, np.inf
        done += 1
        _pass_through(cost[i], v, cost[i, at] - v[at] - lowest, i, work, before)
    for k in range(done):
        v[order[k]] += distance[k] - lowest
    while True:
        i = before[at]
        row_of[at], column_of[i], at = i, at, column_of[i]
        if i == start:
            return


@compiled(FAST)
def _assign(cost: Any, v: Any, column_of: Any, keys: Any) -> None:
    """The cheapest assignment of ``n`` rows to ``n`` columns from prices ``v``, which become optimal."""
    n = cost.shape[0]
    row_of, free, work = np.full(n, -1), np.arange(n), np.empty(n, cost.dtype)
    column_of[:] = -1
    count = n
    for _ in range(ROUNDS):
        count = _bid(cost, v, row_of, column_of, free, count, keys)
    for k in range(count):
        _augment(cost, v, row_of, column_of, free[k], work, keys)


@compiled(FAST)
def assign_one(cost: Any, g: Any, column_of: Any, f: Any) -> float:
    """The cheapest assignment of ``n`` rows to ``n`` columns, float64, from prices ``g`` near optimal.

    Leaves the assignment in ``column_of`` and optimal duals in ``f`` and ``g``. Returns the worst violation
    of ``f_i + g_j <= C_ij`` over all pairs: 0, up to rounding, proves the assignment optimal.
    """
    n = cost.shape[0]
    _assign(cost, g, column_of, np.empty(n, np.int64))
    worst = 0.0
    for i in range(n):
        f[i] = cost[i, column_of[i]] - g[column_of[i]]
        lowest = np.inf
        for j in range(n):
            lowest = min(lowest, cost[i, j] - g[j])
        worst = max(worst, f[i] - lowest)
    return worst


@compiled(FAST)
def assign_run(costs: Any, prices: Any, columns: Any) -> None:
    """Assignments ``columns (p, n)`` for float32 ``costs (p, n, n)``; ``prices (p, n)`` become optimal."""
    keys = np.empty(costs.shape[1], np.int32)
    for k in range(costs.shape[0]):
        _assign(costs[k], prices[k], columns[k], keys)
