"""The randomised bound: its level is exact, it never falls below the plain one, small numbers are capped."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wassermix.certify.bounds import clopper_pearson_lower, randomised_lower

ALPHA = 0.001


@pytest.mark.parametrize(
    ("hits", "draws"), [(1, 10), (73, 100), (900, 1000), (1000, 1000), (99_990, 100_000)]
)
@pytest.mark.parametrize("uniform", [0.9, 0.5, 0.1])
def test_the_bound_solves_its_defining_equation(hits: int, draws: int, uniform: float) -> None:
    p = float(randomised_lower(hits, draws, ALPHA, uniform))
    tail = stats.binom.sf(hits, draws, p) + uniform * stats.binom.pmf(hits, draws, p)
    assert tail == pytest.approx(ALPHA, rel=1e-6)


def test_one_is_clopper_and_pearson_and_smaller_numbers_prove_more() -> None:
    hits = np.array([0, 1, 500, 990, 1000])
    bounds = np.array([randomised_lower(hits, 1000, ALPHA, u) for u in (1.0, 0.7, 0.3, 0.05)])
    assert np.array_equal(bounds[0], clopper_pearson_lower(hits, 1000, ALPHA))
    assert (np.diff(bounds[:, 1:], axis=0) > 0).all()
    assert (bounds[:, 0] == 0).all(), "no hits prove nothing"


def test_without_failures_it_is_a_root_and_tiny_numbers_count_as_a_twentieth() -> None:
    assert randomised_lower(1000, 1000, ALPHA, 0.5) == pytest.approx((ALPHA / 0.5) ** (1 / 1000))
    assert randomised_lower(1000, 1000, ALPHA, 1e-9) == pytest.approx((ALPHA / 0.05) ** (1 / 1000))
    assert randomised_lower(10, 10, 0.4, 1e-9) < 1, "a level above a twentieth never proves certainty"


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_it_is_false_with_probability_at_most_alpha_and_nearly_that(p: float) -> None:
    """The exact level: where the bound exceeds the true p, over all counts and numbers u."""
    n, alpha = 400, 0.01
    counts = np.arange(n + 1)
    likely = counts[stats.binom.pmf(counts, n, p) > 1e-9]
    shares = (np.arange(200) + 0.5) / 200
    false = [np.mean(randomised_lower(k, n, alpha, shares) > p) for k in likely]
    level = float(np.dot(false, stats.binom.pmf(likely, n, p)))
    plain = float(stats.binom.pmf(counts, n, p)[clopper_pearson_lower(counts, n, alpha) > p].sum())
    assert plain <= level <= alpha * 1.01
    assert level >= 0.9 * alpha
