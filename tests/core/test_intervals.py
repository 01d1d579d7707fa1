"""Intervals and paired tests for shares of images, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from wassermix.core.intervals import compare_paired, exact_interval, wilson_interval


def test_intervals_hold_the_share_and_know_their_ends() -> None:
    for count, total in [(0, 500), (250, 500), (500, 500)]:
        for interval in (wilson_interval, exact_interval):
            low, high = interval(count, total)
            assert 0 <= low <= count / total <= high <= 1
    assert exact_interval(0, 500)[1] == pytest.approx(1 - 0.025 ** (1 / 500))


def test_a_paired_comparison_counts_who_is_right_alone() -> None:
    first = np.array([1] * 90 + [1] * 8 + [0] * 1 + [0] * 1, dtype=bool)
    second = np.array([1] * 90 + [0] * 8 + [1] * 1 + [0] * 1, dtype=bool)
    result = compare_paired(first, second)
    assert (result.both, result.first_only, result.second_only, result.neither) == (90, 8, 1, 1)
    assert result.difference == pytest.approx(0.07)
    assert result.low < 0.07 < result.high
    assert result.p_value == pytest.approx(2 * sum(special.comb(9, k) for k in (8, 9)) / 2**9)


def test_equal_classifiers_do_not_differ() -> None:
    result = compare_paired([True, False], [True, False])
    assert result.p_value == 1
    assert result.low < 0 < result.high
