"""The exact sampler against rational arithmetic, and its law against chi-square."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy import stats

from certify import reference
from wassermix.certify.discrete import RoundedGaussian, grid_of, lies_on, rounded_gaussian
from wassermix.certify.fixedpoint import normal_thresholds
from wassermix.certify.noise import NoiseKey, random_words


@pytest.mark.parametrize("sigma", [0.25, 0.5, 0.1, 1.0, 0.004, 0.0003])
def test_thresholds_are_the_floors_of_the_true_distribution_function(sigma: float) -> None:
    step = Fraction(1, 255) / Fraction(sigma)
    got = normal_thresholds(step, 1200)
    for j in [0, 1, 2, 3, 10, 100, 101, 500, 1199]:
        z = (j + Fraction(1, 2)) * step
        expected = (1 << 128) - 1 if z > 14 else math.floor(reference.normal(z) * 2**128)
        assert got[j] == expected


def test_the_reference_agrees_with_an_arbitrary_precision_library() -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(120):
        for z in (Fraction(1, 3), Fraction(7, 2), Fraction(11)):
            expected = mpmath.ncdf(mpmath.mpf(z.numerator) / z.denominator)
            own = reference.normal(z)
            assert abs(mpmath.mpf(own.numerator) / own.denominator - expected) < mpmath.mpf(2) ** -300


def integers(law: RoundedGaussian, key: NoiseKey, rows: int, size: int) -> np.ndarray:
    """The draws J around x = 0, read off where the clip leaves them alone."""
    out = torch.empty(rows, size, dtype=torch.float64)
    law.fill(key, torch.zeros(size), out)
    return np.asarray((out * law.levels).round().long().numpy())


def uniform_bits(key: NoiseKey, e: int, known: int) -> int:
    """The 128 bits of draw number e, put together from plain Philox words."""
    word = int(random_words(key, e + 1)[e]) if known == 32 else 0
    half = int(random_words(key, e // 2 + 1)[e // 2]) >> 16 * (e % 2) & 0xFFFF
    p, q, r, s = reference.words(key.seed, 1 | 1 << 8, key.index, key.block, e)
    if known == 32:
        return word << 96 | p << 64 | q << 32 | r
    return half << 112 | p << 80 | (q >> 16) << 64 | r << 32 | s


@pytest.mark.parametrize(("sigma", "levels"), [(0.5, 255), (0.012, 255), (0.002, 65535)])
def test_draws_equal_those_of_rational_arithmetic(sigma: float, levels: int) -> None:
    law, key = rounded_gaussian(sigma, levels), NoiseKey(7, "count", 3, 2)
    step = Fraction(1, levels) / Fraction(sigma)
    got = integers(law, key, 12, 10).reshape(-1)
    expected = [reference.outcome(uniform_bits(key, e, law.known), step) for e in range(120)]
    assert got.tolist() == np.clip(expected, law.low, law.high).tolist()


@pytest.mark.parametrize("shift", [0, 1])
def test_a_draw_equal_to_a_threshold_has_passed_it(shift: int) -> None:
    """A law of two outcomes whose threshold is one of the draws, or lies one unit above it."""
    law, key = rounded_gaussian(0.012, 255), NoiseKey(7, "count", 3, 2)
    threshold = sorted(uniform_bits(key, e, 16) for e in range(100))[50] + shift
    words = np.array([divmod(threshold, 1 << 64)], dtype=np.uint64).T.copy()
    first = np.array([threshold < bucket << 112 for bucket in range(2**16 + 1)], dtype=np.int16)
    two = RoundedGaussian(law.sigma, 255, law.low, law.high, 0, words, first)
    assert int((integers(two, key, 10, 10) == 1).sum()) == 50 - shift


def chi_square(sigma: float, levels: int, blocks: int, size: int) -> float:
    """The p-value of the draws' frequencies under the law, small cells pooled."""
    law = rounded_gaussian(sigma, levels)
    total = np.zeros(law.high - law.low + 1, dtype=np.int64)
    for block in range(blocks):
        drawn = integers(law, NoiseKey(1, "count", 0, block), 128, size).reshape(-1)
        total += np.bincount(drawn - law.low, minlength=len(total))
    ends = (np.arange(law.low, law.high + 2) - 0.5) / levels / sigma
    ends[0], ends[-1] = -np.inf, np.inf  # the clip
    share = np.where(ends[1:] > 0, stats.norm.sf(ends[:-1]) - stats.norm.sf(ends[1:]), 0)
    share = np.where(ends[1:] > 0, share, stats.norm.cdf(ends[1:]) - stats.norm.cdf(ends[:-1]))
    expected = share * total.sum()
    usual = expected >= 10
    observed = np.append(total[usual], total[~usual].sum())
    wanted = np.append(expected[usual], expected[~usual].sum())
    if wanted[-1] < 10:
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)


@pytest.mark.parametrize(("sigma", "levels"), [(0.5, 255), (0.25, 255), (0.012, 255), (0.002, 65535)])
def test_the_law_is_that_of_a_rounded_gaussian(sigma: float, levels: int) -> None:
    assert chi_square(sigma, levels, blocks=20, size=784) > 1e-4


@pytest.mark.long
@pytest.mark.parametrize(("sigma", "levels"), [(0.25, 255), (0.5, 255), (1.0, 255), (0.1, 65535)])
def test_the_law_holds_at_a_hundred_million_draws(sigma: float, levels: int) -> None:
    assert chi_square(sigma, levels, blocks=1000, size=784) > 1e-4


def test_copies_are_what_the_classifier_is_given_for_grid_values() -> None:
    """Noise around x is the same integers plus x, clipped, and turned into the values that files give."""
    law, key = rounded_gaussian(0.5, 255), NoiseKey(0, "count", 0, 0)
    pixels = torch.arange(0, 256, 3, dtype=torch.uint8)
    x, out = pixels.float() / 255, torch.empty(128, len(pixels))
    law.fill(key, x, out)
    steps = np.clip(integers(law, key, 128, len(pixels)) + pixels.numpy().astype(int), law.low, law.high)
    # at x = 0 the lower end of the clip hides the rest of the lower tail, so compare above it
    free = steps > law.low + 255
    assert np.array_equal(out.numpy()[free], (steps.astype(np.float32) / np.float32(255))[free])
    assert float(out.min()) >= law.low / 255 - 1e-6
    assert float(out.max()) <= law.high / 255 + 1e-6


def test_the_memory_layout_changes_nothing() -> None:
    law, key = rounded_gaussian(0.5, 255), NoiseKey(0, "count", 4, 1)
    x = torch.randint(0, 256, (3, 5, 6)).float() / 255
    plain, last = torch.empty(8, 3, 5, 6), torch.empty(8, 3, 5, 6).to(memory_format=torch.channels_last)
    law.fill(key, x, plain)
    law.fill(key, x, last)
    assert torch.equal(plain, last)


def test_grids_are_recognised() -> None:
    eight = torch.arange(256).float() / 255
    sixteen = torch.arange(0, 65536, 7).float() / 65535
    assert grid_of(eight) == 255
    assert grid_of(eight[[0, 255]]) == 255
    assert grid_of(sixteen) == 65535
    assert grid_of(eight + 1e-4) is None
    assert grid_of(2 * eight) is None
    assert grid_of(-eight) is None


@pytest.mark.parametrize("levels", [3, 255, 300, 4095, 65535, 2**20 + 7, 2**24 - 1])
def test_the_nearest_floats_to_the_steps_of_a_grid_lie_on_it_and_others_do_not(levels: int) -> None:
    steps = torch.linspace(0, levels, 1001, dtype=torch.float64).round()
    x = (steps / levels).float()
    assert lies_on(x, levels)
    assert not lies_on(x, levels + 1 if levels < 2**24 - 1 else 255)
    assert not lies_on(1 + x, levels)
