"""The generator and the rounded Gaussian once more, in plain integers and fractions, for comparison."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

MASK = 0xFFFFFFFF


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox4x32-10 as its authors print it."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def words(seed: int, purpose: int, index: int, block: int, position: int) -> tuple[int, ...]:
    """Four words of the certification noise; ``purpose`` as it stands in the counter."""
    last = (index >> 32) << 16 | purpose
    return philox((position, block, index & MASK, last), (seed & MASK, seed >> 32))


@lru_cache(maxsize=4096)
def normal(z: Fraction) -> Fraction:
    """``Phi(z)`` to far more than 128 binary digits, from the alternating series about zero."""
    term, total, k = z, z, 0
    scale = 1 << 420  # terms are rounded so that fractions stay short
    while abs(term) > Fraction(1, 1 << 400):
        k += 1
        term = Fraction(math.floor(-term * z * z / (2 * k) * scale), scale)
        total += term / (2 * k + 1)
    return Fraction(1, 2) + total * Fraction(math.isqrt((1 << 1200) // two_pi()), 1 << 400)


@lru_cache(maxsize=1)
def two_pi() -> int:
    """``2^400 * 2 pi`` (Gauss's three-term formula)."""
    return 2 * (48 * arctan(18) + 32 * arctan(57) - 20 * arctan(239))


def arctan(n: int) -> int:
    """``2^400 arctan(1/n)``, each term rounded to the nearest."""
    return sum(round(Fraction((-1) ** k << 400, (2 * k + 1) * n ** (2 * k + 1))) for k in range(110))


def outcome(uniform: int, step: Fraction) -> int:
    """The j with ``Phi((j - 1/2) step) <= uniform / 2^128 < Phi((j + 1/2) step)``."""
    u = Fraction(uniform, 1 << 128)
    low, high = -math.ceil(12 / step), math.ceil(12 / step)
    while low < high:
        middle = (low + high) // 2
        if u < normal((middle + Fraction(1, 2)) * step):
            high = middle
        else:
            low = middle + 1
    return low
