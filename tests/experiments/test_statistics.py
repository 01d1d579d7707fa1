"""Difference, equivalence and Holm's correction against brute force and their own laws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from wassermix.core.intervals import holm
from wassermix.experiments.gather import paired_difference
from wassermix.experiments.statistics import Estimate, decide, equivalence, recovered


def closed_bonferroni(values: list[float]) -> list[float]:
    """Holm as a closed test: the largest Bonferroni p-value of all sets of hypotheses that hold the one."""
    places = range(len(values))
    sets = [s for size in range(1, len(values) + 1) for s in combinations(places, size)]
    return [max(min(1.0, len(s) * min(values[i] for i in s)) for s in sets if place in s) for place in places]


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_the_closed_test_of_bonferroni(seed: int) -> None:
    values = np.random.default_rng(seed).beta(0.3, 2.0, 6).tolist()
    assert holm(values) == pytest.approx(closed_bonferroni(values))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_a_difference_has_the_p_value_of_a_paired_t_test() -> None:
    gaps = np.random.default_rng(0).normal(0.3, 1.0, 30)
    estimate = Estimate(float(gaps.mean()), float(stats.sem(gaps)), 29)
    assert estimate.p_difference == pytest.approx(stats.ttest_1samp(gaps, 0.0).pvalue)
    assert estimate.interval() == pytest.approx(stats.t.interval(0.95, 29, gaps.mean(), stats.sem(gaps)))


@pytest.mark.parametrize("mean", [-0.02, 0.0, 0.004, 0.009, 0.011])
@pytest.mark.parametrize("error", [0.0005, 0.003, 0.02])
def test_equivalence_is_shown_exactly_where_the_90_percent_interval_lies_inside(
    mean: float, error: float
) -> None:
    estimate, margin = Estimate(mean, error, 12), 0.01
    low, high = estimate.interval(0.9)
    assert (equivalence(estimate, margin) < 0.05) == (-margin < low and high < margin)


def test_two_that_differ_by_the_margin_are_called_equivalent_in_one_case_of_twenty_at_most() -> None:
    rng, called, cases = np.random.default_rng(1), 0, 600
    for _ in range(cases):
        sample = rng.normal(0.5, 1.0, 40)
        called += equivalence(Estimate(sample.mean(), stats.sem(sample), 39), 0.5) < 0.05
    assert called <= stats.binom.ppf(0.9999, cases, 0.05)


def test_without_any_error_the_mean_alone_decides() -> None:
    assert Estimate(0.0, 0.0, 3).p_difference == 1.0
    assert Estimate(0.1, 0.0, 3).p_difference == 0.0
    assert equivalence(Estimate(0.1, 0.0, 3), 0.2) == 0.0
    assert equivalence(Estimate(0.3, 0.0, 3), 0.2) == 1.0


@pytest.mark.parametrize(
    ("expects", "mean", "p", "q", "answer"),
    [
        ("higher", 0.1, 0.01, 0.9, "holds"),
        ("higher", -0.1, 0.01, 0.9, "does not hold"),
        ("lower", -0.1, 0.01, 0.9, "holds"),
        ("higher", 0.001, 0.6, 0.01, "does not hold"),
        ("higher", 0.001, 0.01, 0.01, "holds"),
        ("higher", 0.1, 0.2, 0.9, "cannot be told"),
        ("same", 0.001, 0.6, 0.01, "holds"),
        ("same", 0.001, 0.01, 0.01, "holds"),
        ("same", 0.1, 0.01, 0.9, "does not hold"),
        ("same", 0.01, 0.01, 0.2, "cannot be told"),
    ],
)
def test_what_two_p_values_say_about_a_claim(expects, mean: float, p: float, q: float, answer: str) -> None:
    assert decide(expects, mean, p_difference=p, p_equivalence=q, margin=0.05) == answer


@pytest.mark.parametrize("seed_sd", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("seeds", [1, 3])
def test_the_error_behind_a_kept_interval_is_recovered_or_taken_with_caution(
    seed_sd: float, seeds: int
) -> None:
    rng = np.random.default_rng(2)
    values = 0.1 + rng.normal(0, 0.5, (1, 200)) + rng.normal(0, seed_sd, (seeds, 1))
    found = paired_difference(values + rng.normal(0, 0.2, (seeds, 200)), np.zeros((seeds, 200)))
    half = (found["high"] - found["low"]) / 2
    got = recovered(found["mean"], half, seeds=seeds, seed_sd=found.get("seed_sd"), units=200)
    assert got.interval() == pytest.approx((found["low"], found["high"]))
    assert got.freedom <= found["freedom"] * 1.05
    exact = Estimate(found["mean"], found["error"], found["freedom"])
    if exact.p_difference < 0.05:  # the caution is on the side of telling less
        assert got.p_difference >= exact.p_difference * 0.9
