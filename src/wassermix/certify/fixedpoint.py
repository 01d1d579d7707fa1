"""The normal distribution function in integers: 128 proven bits at equally spaced points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

__all__ = ["BITS", "normal_thresholds"]

BITS = 128
"""Binary digits of a threshold."""
FAR = 14
"""Beyond so many deviations the upper tail is below ``2^-145``: all 128 digits are ones."""


def normal_thresholds(step: Fraction, count: int) -> list[int]:
    r"""``floor(2^128 Phi((j + 1/2) step))`` for ``j = 0, ..., count - 1``; ``step`` is positive.

    Each point follows from the one before by the Taylor series of the density, whose coefficients
    ``b_k = phi^{(k)}(z) d^k / k!`` obey ``b_{k+1} = -d (z b_k + d b_{k-1}) / (k + 1)``; then
    ``phi(z + d) = sum b_k`` and ``Phi(z + d) = Phi(z) + d sum b_k / (k + 1)``. All in integers scaled
    by ``2^P``. Within one step of length ``d`` a rounding error grows by at most ``exp(z d + d^2)``,
    and P has bits to spare for that; errors of steps add up, a few hundred units each. The digits below
    the 128th are checked to be far from a carry, so the floor is that of the true value.
    """
    growth = math.ceil(1.5 * float(step) * (FAR + float(step))) if step < 2 * FAR else 0
    precision = BITS + 80 + growth
    spare = precision - BITS
    doubt = (count + 1) << (12 + growth)  # units of the last place that all roundings together may make
    found = []
    for value in _normal_values(step, count, precision):
        floor, rest = value >> spare, value & ((1 << spare) - 1)
        assert doubt < rest < (1 << spare) - doubt, "the error bound straddles a digit; use more"
        found.append(floor)
    return found + [(1 << BITS) - 1] * (count - len(found))


def _normal_values(step: Fraction, count: int, precision: int) -> Iterator[int]:
    """``2^P Phi((j + 1/2) step)`` as long as the point is not beyond ``FAR``."""
    width, half = _scaled(step, precision), _scaled(step / 2, precision)
    value, density, place = 1 << (precision - 1), _density_at_zero(precision), 0
    for j in range(min(count, math.floor(FAR / step + Fraction(1, 2)))):
        rise, density = _advance(density, place, width if j else half, precision)
        # the point itself, not a sum of rounded steps
        value, place = value + rise, ((2 * j + 1) * step.numerator << precision) // (2 * step.denominator)
        yield value


def _scaled(number: Fraction, precision: int) -> int:
    return (number.numerator << precision) // number.denominator


def _advance(density: int, z: int, d: int, precision: int) -> tuple[int, int]:
    """The integral of the density over ``[z, z + d]``, and the density at its end."""
    before, now, k = 0, density, 0
    area, total = 0, 0
    while abs(now) > 1 or abs(before) > 1:  # rounding towards minus infinity never ends at zero
        k += 1
        area, total = area + now // k, total + now
        before, now = now, -(d * ((z * now + d * before) >> precision) >> precision) // k
    return (d * area) >> precision, total


def _density_at_zero(precision: int) -> int:
    """``2^P / sqrt(2 pi)``."""
    return math.isqrt((1 << 3 * precision) // (2 * _pi(precision)))


def _pi(precision: int) -> int:
    """``2^P pi`` by Machin's formula, with eight digits to spare."""
    scale = precision + 8
    return (16 * _arctan_inverse(5, scale) - 4 * _arctan_inverse(239, scale)) >> 8


def _arctan_inverse(n: int, precision: int) -> int:
    """``2^P arctan(1 / n)``."""
    power, total, k = (1 << precision) // n, 0, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power, k = power // (n * n), k + 2
    return total
