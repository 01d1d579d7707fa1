"""The cheapest labelling of a grid, exactly: a minimum cut, also for more than two labels.

With labels ``l`` in ``0 .. L-1`` and a quadratic price for differences between neighbours, the energy is
submodular in the bits ``[l >= s]`` (Ishikawa's construction), so that one maximum flow finds its minimum for
any number of labels; the swap moves of general graph-cut packages are not needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

__all__ = ["cut_grid"]

Array = NDArray[np.float64]
LARGEST = 2**30  # scipy's flows are 32-bit integers; so is the sum of all that leave the source


def cut_grid(unary: Array, right: Array, down: Array) -> NDArray[np.int64]:
    """The labels ``l (a, b)`` of the least ``sum_p unary[p, l_p] + sum_pq w_pq ((l_p - l_q) / (L - 1))^2``.

    Args:
        unary: the price of each label, ``(a, b, L)`` with ``L >= 2``.
        right: weights between horizontal neighbours, ``(a, b - 1)``, not negative.
        down: weights between vertical neighbours, ``(a - 1, b)``, not negative.

    Exact up to the rounding of capacities to integers, 2^-30 of their sum.
    """
    rows, columns, count = unary.shape
    bits = count - 1
    cell = np.arange(rows * columns).reshape(rows, columns)
    first = np.concatenate([cell[:, :-1].ravel(), cell[:-1].ravel()])
    second = np.concatenate([cell[:, 1:].ravel(), cell[1:].ravel()])
    weight = np.concatenate([right.ravel(), down.ravel()]) / bits**2
    gain = np.diff(unary, axis=2).reshape(-1, bits)  # the price of setting bit s of a cell
    steps = 2 * np.arange(1, count) - 1
    np.add.at(gain, first, weight[:, None] * (steps - 2 * bits))
    np.add.at(gain, second, weight[:, None] * steps)
    on = _source_side(gain, first, second, weight)
    labels: NDArray[np.int64] = on.sum(axis=1).reshape(rows, columns)
    return labels


def _source_side(gain: Array, first: NDArray, second: NDArray, weight: Array) -> NDArray[np.bool_]:
    """Which bits ``(cells, bits)`` are set in the minimum of ``gain . b + 2 sum w b_ps (1 - b_qt)``."""
    cells, bits = gain.shape
    source, sink = cells * bits, cells * bits + 1
    node = np.arange(cells * bits).reshape(cells, bits)
    flat = gain.ravel()
    pays, earns = flat > 0, flat < 0
    scale = LARGEST / (max(-flat[earns].sum(), flat.max(), 2 * weight.max(initial=0)) or 1.0)
    edges = [
        (node.ravel()[pays], np.full(pays.sum(), sink), flat[pays] * scale),
        (np.full(earns.sum(), source), node.ravel()[earns], -flat[earns] * scale),
        (node[:, 1:].ravel(), node[:, :-1].ravel(), np.full(cells * (bits - 1), 2.0 * LARGEST - 1)),
    ]
    for s in range(bits):
        edges += [(node[first, s], node[second, t], 2 * weight * scale) for t in range(bits)]
    tails, heads, capacity = (np.concatenate(parts) for parts in zip(*edges))
    graph = csr_matrix(
        (np.rint(capacity).astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1), dtype=np.int32
    )
    residual = graph - maximum_flow(graph, source, sink).flow
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    on = np.zeros(sink + 1, dtype=bool)
    on[reached] = True
    return on[:source].reshape(cells, bits)
