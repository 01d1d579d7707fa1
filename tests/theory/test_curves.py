"""Curves: their errors are those that repeated simulations have, and a gap is told in them."""

from __future__ import annotations

import numpy as np
import pytest

from wassermix.theory.curves import Values, curves_of, furthest, jackknifed, means, shares, stream


def test_the_error_of_a_share_is_that_of_repeated_draws() -> None:
    drawn = np.random.default_rng(0).binomial(400, 0.2, 20_000) / 400
    curve = shares([0.2], [drawn[0]], samples=400)
    assert curve["error"][0] == pytest.approx(drawn.std(), rel=0.03)
    assert shares([0.0], [0.0], samples=400)["error"] == [1 / 400]


def test_the_error_of_a_mean_is_that_of_repeated_batches() -> None:
    drawn = np.random.default_rng(1).normal(3.0, 2.0, (5000, 50, 1))
    curves = [means([3.0], batches) for batches in drawn]
    spread = np.std([curve["simulated"][0] for curve in curves])
    assert np.mean([curve["error"][0] for curve in curves]) == pytest.approx(spread, rel=0.05)


def test_the_jackknife_is_the_plain_error_for_a_mean_and_right_for_its_square() -> None:
    drawn = np.random.default_rng(2).normal(3.0, 2.0, (2000, 50, 1))
    plain, same = means([3.0], drawn[0]), jackknifed([3.0], drawn[0], lambda mean: mean)
    assert same["error"] == pytest.approx(plain["error"])
    assert same["simulated"] == pytest.approx(plain["simulated"])

    def square(mean: Values) -> Values:
        return mean**2

    curves = [jackknifed([9.0], batches, square) for batches in drawn]
    spread = np.std([curve["simulated"][0] for curve in curves])
    assert np.mean([curve["error"][0] for curve in curves]) == pytest.approx(spread, rel=0.06)


def test_a_gap_counts_standard_errors_and_rounding_alone_counts_none() -> None:
    curve = {"theory": [1.0, 2.0], "simulated": [1.0 + 1e-12, 2.3], "error": [0.0, 0.1]}
    assert furthest([curve]) == pytest.approx(3.0)
    assert furthest([{**curve, "simulated": [1.1, 2.0]}]) > 1e6


def test_curves_are_found_however_deep_they_stand() -> None:
    curve = shares([0.5], [0.4], samples=10)
    assert curves_of({"x": [1], "here": curve, "below": {"one": curve, "other": {"two": 2}}}) == [
        curve,
        curve,
    ]


def test_each_part_draws_its_own_numbers_and_the_same_again() -> None:
    assert stream("one").random() == stream("one").random()
    assert stream("one").random() != stream("other").random()
