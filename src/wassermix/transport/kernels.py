"""Entropic transport compiled for the CPU: one call solves a run of problems, without the GIL.

Each problem keeps its potentials in float64 and *absorbs* them into a kernel
``K_ij = b_j exp(f_i + g_j - rate C_ij)`` with entries near 1, so that a float32 kernel neither overflows
nor loses the digits that the potentials hold; ``rate`` is 1 / entropy, potentials are in units of entropy.
A sweep reads ``K`` once; Anderson acceleration extrapolates the sequence of ``g``.

All that these functions call is in this file: Numba's cache notices no changes in others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from wassermix.core.jit import EXACT, FAST, compiled
from wassermix.transport.constants import ABSORB, FRESH_STARTS, LOWEST, MEMORY

__all__ = ["near_run", "solve_run", "stream_rows"]

RIDGE = 1e-12
IN_CACHE = 2**13  # matrix entries
PATIENCE = 2000  # sweeps after which a solve starts again from larger entropies
DESCENT = 64  # times the entropy: where it starts then


@compiled(EXACT)
def _exp32(x: Any) -> Any:
    """``exp`` of a float32 above -60 to 1e-7, by ``2^n p(r)``: unlike libm's, LLVM vectorises it."""
    x = max(x, np.float32(LOWEST))
    shifted = x * np.float32(1.4426950408889634) + np.float32(12582912.0)  # n in the low bits
    n = shifted - np.float32(12582912.0)
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    bits = np.float32(p).view(np.int32) + (np.float32(shifted).view(np.int32) << np.int32(23))
    return np.int32(bits).view(np.float32)


@compiled(EXACT)
def _exp64(x: Any) -> Any:
    """``exp`` of a float64 in (-700, 700) to 1e-14."""
    x = min(max(x, -700.0), 700.0)
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = x - n * 6.93145751953125e-1 - n * 1.42860682030941723212e-6
    p = ((r / 39916800 + 1.0 / 3628800) * r + 1.0 / 362880) * r + 1.0 / 40320
    p = (((p * r + 1.0 / 5040) * r + 1.0 / 720) * r + 1.0 / 120) * r + 1.0 / 24
    p = (((p * r + 1.0 / 6) * r + 0.5) * r + 1.0) * r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


@compiled(EXACT)
def _log(x: Any) -> Any:
    """``log`` of a positive normal float64 to 1e-15."""
    bits = np.float64(x).view(np.int64)
    k = (bits - 0x3FE6A09E667F3BCD) >> 52
    mantissa = np.int64(bits - (k << 52)).view(np.float64)  # in [sqrt 1/2, sqrt 2)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    p = ((z * (2.0 / 19) + 2.0 / 17) * z + 2.0 / 15) * z + 2.0 / 13
    p = ((p * z + 2.0 / 11) * z + 2.0 / 9) * z + 2.0 / 7
    p = ((p * z + 2.0 / 5) * z + 2.0 / 3) * z + 2.0
    return s * p + k * 0.6931471805599453


def _exp(x: Any) -> Any:
    """``exp`` in the precision of its argument."""


@overload(_exp)
def _exp_of(x):  # type: ignore[no-untyped-def]  # Numba wants the very signature of the lambdas
    return (lambda x: _exp32(x)) if x == types.float32 else (lambda x: _exp64(x))


@compiled(FAST)
def _top(cost: Any, shift: Any, rate: Any) -> Any:
    """``max_j shift_j - rate C_j`` to float32, by the integer order of its bits, which LLVM vectorises."""
    top = np.int32(-2147483648)
    for j in range(cost.shape[0]):
        bits = np.float32(shift[j] - rate * cost[j]).view(np.int32)
        top = max(top, bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF)))
    return np.int32(top ^ ((top >> 31) & np.int32(0x7FFFFFFF))).view(np.float32)


@compiled(EXACT)
def _exp_all(values: Any) -> None:
    for j in range(values.shape[0]):
        values[j] = _exp(values[j])


@compiled(FAST)
def _fill(cost: Any, shift: Any, rate: Any, f: Any, kernel: Any) -> None:
    """``K_ij = exp(f_i + shift_j - rate C_ij)`` in two loops, because both vectorise and one would not."""
    n, m = cost.shape
    for i in range(n):
        own, here, line = cost.dtype.type(f[i]), cost[i], kernel[i]
        for j in range(m):
            line[j] = own + shift[j] - rate * here[j]
    _exp_all(kernel.reshape(-1))


@compiled(FAST)
def _fill_all(cost: Any, shift: Any, rate: Any, f: Any, kernel: Any) -> None:
    """:func:`_fill` for as many rows at a time as stay in cache between its loops."""
    n, m = cost.shape
    step = max(1, IN_CACHE // m)
    for i in range(0, n, step):
        j = min(i + step, n)
        _fill(cost[i:j], shift, rate, f[i:j], kernel[i:j])


@compiled(FAST)
def _copy(x: Any, out: Any) -> None:
    for j in range(out.shape[0]):
        out[j] = x[j]


@compiled(FAST)
def _add(x: Any, y: Any, out: Any) -> None:
    for j in range(out.shape[0]):
        out[j] = x[j] + y[j]


@compiled(FAST)
def _sweep(kernel: Any, a: Any, v: Any, s: Any, c: Any) -> None:
    """``s = K v`` and ``c = K^T (a / s)`` in one read of ``K``, four rows at a time while in cache."""
    n, m = kernel.shape
    zero = kernel.dtype.type(0)
    for j in range(m):
        c[j] = zero
    whole = n - n % 4
    for i in range(0, whole, 4):
        k0, k1, k2, k3 = kernel[i], kernel[i + 1], kernel[i + 2], kernel[i + 3]
        s0 = s1 = s2 = s3 = zero
        for j in range(m):
            s0 += k0[j] * v[j]
            s1 += k1[j] * v[j]
            s2 += k2[j] * v[j]
            s3 += k3[j] * v[j]
        s[i], s[i + 1], s[i + 2], s[i + 3] = s0, s1, s2, s3
        u0, u1, u2, u3 = a[i] / s0, a[i + 1] / s1, a[i + 2] / s2, a[i + 3] / s3
        for j in range(m):
            c[j] += u0 * k0[j] + u1 * k1[j] + u2 * k2[j] + u3 * k3[j]
    for i in range(whole, n):
        line, total = kernel[i], zero
        for j in range(m):
            total += line[j] * v[j]
        s[i] = total
        own = a[i] / total
        for j in range(m):
            c[j] += own * line[j]


@compiled(FAST)
def _fit(gram: Any, right: Any, count: int) -> None:
    """Solve ``gram x = right`` for the first ``count`` unknowns in place, by Cholesky with a small ridge."""
    trace = 0.0
    for i in range(count):
        trace += gram[i, i]
    for i in range(count):
        for j in range(i + 1):
            value = gram[i, j]
            for k in range(j):
                value -= gram[i, k] * gram[j, k]
            if i == j:
                gram[i, i] = np.sqrt(max(value, 0.0) + RIDGE * trace + 1e-300)
            else:
                gram[i, j] = value / gram[j, j]
    for i in range(count):
        for k in range(i):
            right[i] -= gram[i, k] * right[k]
        right[i] /= gram[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            right[i] -= gram[k, i] * right[k]
        right[i] /= gram[i, i]


@compiled(FAST)
def _extrapolate(points: Any, residuals: Any, gram: Any, work: Any, slot: int, count: int, out: Any) -> None:
    """Anderson's step: the newest point less the mixture of earlier moves that best explains its residual.

    Row ``slot`` of ``points`` and ``residuals`` holds the newest; the ``count`` rows before it (in a ring)
    hold the differences of earlier neighbours, whose products ``gram`` keeps.
    """
    m = out.shape[0]
    newest, right, small = residuals[slot], work[MEMORY], work[:MEMORY]
    last = (slot - 1) % MEMORY
    for k in range(count):
        other, dot, cross = (slot - 1 - k) % MEMORY, 0.0, 0.0
        row, old = residuals[last], residuals[other]
        for j in range(m):
            dot += row[j] * old[j]
            cross += newest[j] * old[j]
        gram[last, other] = gram[other, last] = dot
        right[k] = cross
    for k in range(count):
        for other in range(count):
            small[k, other] = gram[(slot - 1 - k) % MEMORY, (slot - 1 - other) % MEMORY]
    _fit(small, right, count)
    _copy(points[slot], out)
    for k in range(count):
        move, share = points[(slot - 1 - k) % MEMORY], right[k]
        for j in range(m):
            out[j] -= share * move[j]


@compiled(FAST)
def _compare(
    b: Any, logs: Any, v: Any, c: Any, base: Any, now: Any, point: Any, residual: Any
) -> float:  # fmt: skip
    """The plain Sinkhorn step for ``g``, how far it leads from ``now``, and the L1 error of the columns."""
    error = 0.0
    for j in range(b.shape[0]):
        error += abs(np.float64(v[j]) * c[j] - b[j])
    for j in range(b.shape[0]):
        gain = logs[j] - _log(np.float64(c[j]))
        point[j] = base[j] + (gain if b[j] > 0 else 0.0)  # targets without weight stay where they are
        residual[j] = point[j] - now[j]
    return error


@compiled(FAST)
def _near(x: Any, y: Any) -> bool:
    """Whether no ``|x_j - y_j|`` exceeds ``ABSORB``; NaN is not near anything."""
    count = 0
    for j in range(x.shape[0]):
        count += 1 if abs(x[j] - y[j]) <= ABSORB else 0
    return bool(count == x.shape[0])


@compiled(FAST)
def _turn(newest: Any, before: Any) -> None:
    """Put the difference of two neighbours in the place of the older one."""
    for j in range(before.shape[0]):
        before[j] = newest[j] - before[j]


@compiled(FAST)
def _iterate(
    cost: Any, a: Any, b: Any, logs: Any, rate: Any, f: Any, g: Any, kernel: Any, target: float, limit: int
) -> int:
    """Sweep until the columns fit to ``target``; ``f`` and ``g`` go in roughly right and come out fitted."""
    n, m = cost.shape
    real = kernel.dtype.type
    base, shift, weights = np.empty(m), np.empty(m, cost.dtype), a.astype(kernel.dtype)
    v, c, s = np.empty(m, kernel.dtype), np.empty(m, kernel.dtype), np.empty(n, kernel.dtype)
    points, residuals = np.empty((MEMORY, m)), np.empty((MEMORY, m))
    gram, work = np.empty((MEMORY, MEMORY)), np.empty((MEMORY + 1, MEMORY))
    sweeps, stored, best, held = 0, 0, np.inf, False
    lowest, rest, penalty = np.inf, 0, 1
    while True:
        if not held:
            _copy(g, base)
            _add(g, logs, shift)
            _fill_all(cost, shift, rate, f, kernel)
        for j in range(m):
            v[j] = real(g[j] - base[j])
        _exp_all(v)
        for j in range(m):
            v[j] = v[j] if b[j] > 0 else real(0)
        _sweep(kernel, weights, v, s, c)
        sweeps += 1
        slot, before = sweeps % MEMORY, (sweeps - 1) % MEMORY
        error = _compare(b, logs, v, c, base, g, points[slot], residuals[slot])
        done = error <= target or sweeps >= limit
        if not done:
            if error < lowest / 2:  # real progress: extrapolations are trusted again
                lowest, penalty = error, 1
            if not error <= 3 * best:  # led astray: plain steps, which never lead away, more each time
                rest, best, penalty = penalty, error, 2 * penalty
            best = min(best, error)
            stored = 0 if rest > 0 or sweeps == 1 else min(stored + 1, MEMORY - 1)
            rest -= 1
            if stored > 0:
                _turn(points[slot], points[before])
                _turn(residuals[slot], residuals[before])
            _extrapolate(points, residuals, gram, work, slot, stored, g)
            if not _near(g, points[slot]):  # further than the kernel can hold: the plain step always fits
                stored = 0
                _copy(points[slot], g)
            held = _near(g, base)
        if done or not held:
            for i in range(n):
                f[i] -= _log(np.float64(s[i]))
        if done:
            return sweeps


@compiled(FAST)
def _measure(
    cost: Any, a: Any, b: Any, logs: Any, rate: Any, f: Any, g: Any, kernel: Any
) -> tuple[float, float]:
    """L1 error of both marginals and ``<P, C>``, from nothing but the potentials.

    Sums of some rows are in the kernel's precision, those over all rows in float64.
    """
    n, m = cost.shape
    columns, part, shift = np.zeros(m), np.empty(m, kernel.dtype), np.empty(m, cost.dtype)
    _add(g, logs, shift)
    error = total = 0.0
    step = max(1, IN_CACHE // m)
    for start in range(0, n, step):
        stop = min(start + step, n)
        _fill(cost[start:stop], shift, rate, f[start:stop], kernel[start:stop])
        part[:] = 0
        for i in range(start, stop):
            line, here, share = kernel[i], cost[i], kernel.dtype.type(a[i])
            mass, moved = kernel.dtype.type(0), cost.dtype.type(0)
            for j in range(m):
                mass += line[j]
                moved += line[j] * here[j]
            for j in range(m):
                part[j] += share * line[j]
            error += a[i] * abs(mass - 1.0)
            total += a[i] * moved
        for j in range(m):
            columns[j] += part[j]
    for j in range(m):
        error += abs(columns[j] - b[j])
    return error, total


@compiled(FAST)
def _first_guess(cost: Any, logs: Any, rate: Any, f: Any, g: Any, warm: bool) -> None:
    """``g_j = min_i rate C_ij`` unless given, and ``f`` to match: each row and column has an entry near 1."""
    n, m = cost.shape
    shift = np.empty(m, cost.dtype)
    if not warm:
        low = cost[0].copy()
        for i in range(1, n):
            here = cost[i]
            for j in range(m):
                low[j] = here[j] if here[j] < low[j] else low[j]
        for j in range(m):
            g[j] = rate * low[j]
    _add(g, logs, shift)
    for i in range(n):
        f[i] = -_top(cost[i], shift, rate)


@compiled(FAST)
def _extend(cost: Any, a: Any, b: Any, rate: Any, f: Any, g: Any) -> None:
    """The potential of targets without weight: ``g_j = -log sum_i a_i exp(f_i - rate C_ij)``."""
    for j in range(b.shape[0]):
        if b[j] > 0:
            continue
        top, total = -np.inf, 0.0
        for i in range(a.shape[0]):
            if a[i] > 0:
                top = max(top, f[i] - rate * cost[i, j])
        for i in range(a.shape[0]):
            if a[i] > 0:
                total += a[i] * np.exp(f[i] - rate * cost[i, j] - top)
        g[j] = -top - np.log(total)


@compiled(FAST)
def _descend(cost: Any, a: Any, b: Any, logs: Any, rate: Any, f: Any, g: Any, kernel: Any, limit: int) -> int:
    """Come down to ``rate`` from larger entropies, each solved roughly, in at most ``limit`` sweeps each."""
    sweeps, share = 0, DESCENT
    while share > 1:
        there = cost.dtype.type(rate / share)
        _first_guess(cost, logs, there, f, g, share < DESCENT)
        sweeps += _iterate(cost, a, b, logs, there, f, g, kernel, 1e-2, limit)
        for j in range(g.shape[0]):
            g[j] *= 2
        share //= 2
    _first_guess(cost, logs, rate, f, g, True)
    return sweeps


@compiled(FAST)
def _solve(
    cost: Any, a: Any, b: Any, rate: Any, kernel: Any, f: Any, g: Any,
    tolerance: float, limit: int, warm: bool,
) -> tuple[int, float, float]:  # fmt: skip
    """Solve one problem: sweeps made, L1 error, ``<P, C>``; the potentials are left in ``f`` and ``g``."""
    logs = np.empty(b.shape[0])
    for j in range(b.shape[0]):
        logs[j] = np.log(b[j]) if b[j] > 0 else -np.inf
    _first_guess(cost, logs, rate, f, g, warm)
    sweeps, target, until = 0, 0.98 * tolerance, PATIENCE if limit >= 2 * PATIENCE else limit
    error = total = np.inf
    for _ in range(FRESH_STARTS):
        sweeps += _iterate(cost, a, b, logs, rate, f, g, kernel, target, until - sweeps)
        error, total = _measure(cost, a, b, logs, rate, f, g, kernel)
        if error <= tolerance or sweeps >= limit:
            break
        if sweeps >= until:
            sweeps += _descend(cost, a, b, logs, rate, f, g, kernel, PATIENCE // 8)
            until = limit
        else:
            target /= 2
    _extend(cost, a, b, rate, f, g)
    return sweeps, error, total


@compiled(FAST)
def solve_run(
    costs: Any, a: Any, b: Any, eps: Any, kernel: Any, f: Any, g: Any, sweeps: Any, error: Any, total: Any,
    tolerance: float, limit: int, warm: bool,
) -> None:  # fmt: skip
    """Solve the problems ``costs (p, n, m)`` one after the other in the workspace ``kernel (n, m)``.

    ``f (p, n)`` and ``g (p, m)`` receive the potentials in units of cost, ``sweeps``, ``error`` and ``total``
    ``(p,)`` the sweeps, the L1 error and ``<P, C>``. With ``warm``, ``g`` holds the start.
    """
    for k in range(costs.shape[0]):
        rate = costs.dtype.type(1 / eps[k])
        for j in range(g.shape[1] if warm else 0):
            g[k, j] /= eps[k]
        sweeps[k], error[k], total[k] = _solve(
            costs[k], a[k], b[k], rate, kernel, f[k], g[k], tolerance, limit, warm
        )
        for i in range(f.shape[1]):
            f[k, i] *= eps[k]
        for j in range(g.shape[1]):
            g[k, j] *= eps[k]


@compiled(FAST)
def near_run(costs: Any, rates: Any, kernel: Any, g: Any, target: float, limit: int) -> None:
    """Potentials ``g (p, m)``, in units of cost, near those of even weights: a few sweeps, nothing measured.

    ``rates (p,)`` is 1 / entropy in the type of the costs.
    """
    n, m = kernel.shape
    a, b, logs, f = np.full(n, 1.0 / n), np.full(m, 1.0 / m), np.full(m, -np.log(m)), np.empty(n)
    for k in range(costs.shape[0]):
        _first_guess(costs[k], logs, rates[k], f, g[k], False)
        _iterate(costs[k], a, b, logs, rates[k], f, g[k], kernel, target, limit)
        for j in range(m):
            g[k, j] /= rates[k]


@compiled(FAST)
def stream_rows(cost: Any, a: Any, shift: Any, rate: Any, f: Any, columns: Any, line: Any) -> float:
    """One step on a block of rows that is not kept: ``f_i = -log sum_j exp(shift_j - rate C_ij)``.

    Adds ``a_i exp(f_i + shift_j - rate C_ij)`` to ``columns`` and returns ``sum_ij`` of it times ``C_ij``.
    """
    total = 0.0
    for i in range(cost.shape[0]):
        here, mass, moved = cost[i], 0.0, 0.0
        own = -_top(here, shift, rate)
        for j in range(line.shape[0]):
            line[j] = cost.dtype.type(own) + shift[j] - rate * here[j]
        _exp_all(line)
        for j in range(line.shape[0]):
            mass += line[j]
            moved += line[j] * here[j]
        share = line.dtype.type(a[i] / mass)
        for j in range(line.shape[0]):
            columns[j] += share * line[j]
        f[i] = own - _log(mass)
        total += a[i] / mass * moved
    return total
