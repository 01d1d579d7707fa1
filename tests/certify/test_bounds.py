"""Bounds on counts against exact sums, scipy and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats

from wassermix.certify.bounds import (
    certified_radius,
    clopper_pearson_lower,
    false_certificates,
    log_e_value,
    smallest_hits,
    time_uniform_lower,
    union_of_looks_levels,
)

ALPHA = 0.001


@pytest.mark.parametrize(
    ("hits", "draws"),
    [(1, 1), (1, 100_000), (99_000, 100_000), (100_000, 100_000), (73, 100), (999_999_999, 1_000_000_000)],
)
def test_clopper_pearson_is_where_the_binomial_tail_is_alpha(hits: int, draws: int) -> None:
    bound = float(clopper_pearson_lower(hits, draws, ALPHA))
    assert stats.binom.sf(hits - 1, draws, bound) == pytest.approx(ALPHA, rel=1e-6)


def test_no_hits_prove_nothing_and_no_failures_give_the_root() -> None:
    assert clopper_pearson_lower(0, 50, ALPHA) == 0
    assert clopper_pearson_lower(50, 50, ALPHA) == pytest.approx(ALPHA ** (1 / 50))


@pytest.mark.parametrize("n", [100, 1000, 100_000])
@pytest.mark.parametrize("sigmas", [0.0, 0.5, 1.0, 2.0, 3.0, 3.5])
def test_fixed_certifies_falsely_with_probability_at_most_alpha(n: int, sigmas: float) -> None:
    """The exact level: the binomial tail from the fewest hits that certify, at the null and below it."""
    threshold = float(special.ndtr(sigmas))
    fewest = int(smallest_hits(lambda k: clopper_pearson_lower(k, n, ALPHA) > threshold, np.array(n)))
    for p in threshold * np.array([1.0, 0.999, 0.9, 0.5, 0.1]):
        assert stats.binom.sf(fewest - 1, n, p) <= ALPHA


@pytest.mark.parametrize(
    ("hits", "draws", "p0"), [(95, 100, 0.8), (100, 100, 0.9), (990, 1000, 0.95), (60, 100, 0.5)]
)
def test_the_e_value_is_the_integral_it_claims_to_be(hits: int, draws: int, p0: float) -> None:
    prior = stats.beta(0.5, 0.5)

    def integrand(angle: float) -> float:  # q = sin^2(angle) takes the prior's singular end away
        q = np.sin(angle) ** 2
        ratio = hits * np.log(q / p0) + (draws - hits) * (np.log1p(-q) - np.log1p(-p0)) if q < 1 else -np.inf
        return float(np.exp(ratio) * 2 / np.pi)

    ends = np.arcsin(np.sqrt(p0)), np.pi / 2
    integral = integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-9, limit=200)[0] / prior.sf(p0)
    expected = 0.5 * (hits == draws) * p0**-draws + 0.5 * integral
    assert np.exp(log_e_value(hits, draws, p0)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("p", [0.5, 0.3, 0.05])
def test_the_e_value_has_mean_at_most_one_under_the_null(p: float) -> None:
    hits = np.arange(201)
    mean = np.sum(stats.binom.pmf(hits, 200, p) * np.exp(log_e_value(hits, 200, 0.5)))
    assert mean <= 1


def test_the_e_value_stays_finite_or_zero_at_extreme_counts() -> None:
    hits = np.array([0, 1, 50_000, 99_999, 100_000])
    for p0 in (0.5, 0.9, special.ndtr(3.5), special.ndtr(6), 1.0):
        values = log_e_value(hits, 100_000, p0)
        assert not np.isnan(values).any()
        assert (values[:3] <= 0).all() or p0 == 0.5


def test_far_below_the_threshold_the_e_value_is_nothing() -> None:
    draws = np.array([128, 1024, 100_000])
    for p0 in (0.5, 0.9, special.ndtr(3.0), special.ndtr(3.5)):
        for share in (0.01, 0.3, 0.49):
            assert (log_e_value((draws * share).astype(int), draws, p0) < 0).all()


def test_a_prior_without_mass_above_the_null_gives_no_evidence_against_it() -> None:
    hits = np.array([199, 1990, 19_900])
    values = log_e_value(hits, np.array([200, 2000, 20_000]), special.ndtr(2.0), prior=((1.0, 0.5, 400.0),))
    assert (values == -np.inf).all()


@pytest.mark.parametrize("draws", [1, 7, 128, 2048])
def test_more_failures_never_raise_the_e_value_or_the_bounds(draws: int) -> None:
    hits = np.arange(draws + 1)
    for p0 in (0.5, 0.7, special.ndtr(2.0), special.ndtr(3.5)):
        values = np.exp(np.minimum(log_e_value(hits, draws, p0), 500))
        assert (np.diff(values) >= -1e-12).all()
    assert (np.diff(clopper_pearson_lower(hits, draws, ALPHA)) >= 0).all()
    assert (np.diff(time_uniform_lower(hits, draws, ALPHA)) >= -1e-15).all()


def test_the_time_uniform_bound_is_where_the_e_value_crosses() -> None:
    hits, draws = np.array([120, 900, 1000, 99_990, 600]), np.array([128, 1000, 1000, 100_000, 1000])
    bound = time_uniform_lower(hits, draws, ALPHA)
    assert log_e_value(hits, draws, bound) == pytest.approx(np.full(5, np.log(1000)), abs=1e-4)
    below = bound * (1 - np.array([1e-3, 1e-2, 0.1, 0.5])[:, None])
    assert (log_e_value(hits, draws, below) >= np.log(1000)).all()
    assert (bound <= clopper_pearson_lower(hits, draws, ALPHA)).all()


def test_radii_are_quantiles_and_never_negative() -> None:
    assert certified_radius(special.ndtr(1.5), 2.0) == pytest.approx(3.0)
    assert certified_radius([0.0, 0.3, 0.5], 2.0) == pytest.approx([0, 0, 0])


def test_union_of_looks_spends_alpha_and_half_of_it_last() -> None:
    levels = union_of_looks_levels(14, ALPHA)
    assert levels.sum() == pytest.approx(ALPHA)
    assert levels[-1] == pytest.approx(ALPHA / 2)
    assert union_of_looks_levels(1, ALPHA) == pytest.approx([ALPHA])


def test_union_of_looks_holds_at_the_null() -> None:
    looks = np.unique(np.geomspace(100, 10_000, 14).astype(int))
    levels, threshold, paths = union_of_looks_levels(len(looks), 0.01), special.ndtr(1.0), 50_000
    steps = np.diff(looks, prepend=0)
    hits = np.random.default_rng(0).binomial(steps, threshold, (paths, len(looks))).cumsum(axis=1)
    false = (clopper_pearson_lower(hits, looks, levels) > threshold).any(axis=1).sum()
    assert false <= 0.01 * paths + 4 * np.sqrt(0.01 * paths)


def test_the_number_of_false_certificates_is_a_binomial_quantile() -> None:
    limit = false_certificates(500, ALPHA)
    assert stats.binom.cdf(limit, 500, ALPHA) >= 0.95 > stats.binom.cdf(limit - 1, 500, ALPHA)
    assert false_certificates(0, ALPHA) == 0
