"""Stopping rules: false certificates by simulation on their boundaries, monotonicity, recomputation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from wassermix.certify.bounds import log_e_value
from wassermix.certify.cost import simulate_draws
from wassermix.certify.fixed import FixedRule
from wassermix.certify.grid import GridRule
from wassermix.certify.rule import Rule, look_schedule
from wassermix.certify.tolerance import ToleranceRule

ALPHA = 0.001
PATHS = 200_000
ALLOWED = ALPHA * PATHS + 4 * np.sqrt(ALPHA * PATHS)
SIGMAS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5)


@pytest.fixture(scope="module")
def grid() -> GridRule:
    return GridRule(1.0, SIGMAS, 100_000, ALPHA)


def run(rule: Rule, p: float | np.ndarray, paths: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws and hits at the stop of ``paths`` independent images with class probability ``p``."""
    p = np.broadcast_to(p, paths)
    generator, hits, before = np.random.default_rng(seed), np.zeros(paths, dtype=np.int64), 0
    draws, active = np.zeros(paths, dtype=np.int64), np.arange(paths)
    for look, count in enumerate(rule.looks):
        hits[active] += generator.binomial(count - before, p[active])
        distinct, path = np.unique(hits[active], return_inverse=True)  # the rule is a function of the counts
        done = rule.finished(look, distinct)[path]
        draws[active[done]] = count
        active, before = active[~done], count
    assert not len(active)
    return draws, hits


def distinct_radii(rule: Rule, draws: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The radius of each distinct (draws, hits), and how often it came: paths share few of them."""
    pairs, counts = np.unique(np.stack([draws, hits]), axis=1, return_counts=True)
    return rule.radius(pairs[0], pairs[1]), counts


def test_looks_are_whole_blocks_and_end_at_the_budget() -> None:
    looks = look_schedule(100_000)
    assert looks[:6] == (128, 256, 512, 768, 1024, 2048)
    assert all(count % 128 == 0 for count in looks[:-1])
    assert looks[-1] == 100_000
    assert look_schedule(50) == (50,)


@pytest.mark.parametrize("sigmas", SIGMAS)
def test_grid_certifies_a_null_falsely_no_more_often_than_alpha(grid: GridRule, sigmas: float) -> None:
    """At p = Phi(r/sigma) a certificate of r or more is false; it must come with probability <= alpha."""
    draws, hits = run(grid, float(special.ndtr(sigmas)), PATHS, seed=int(10 * sigmas))
    radii, counts = distinct_radii(grid, draws, hits)
    assert counts[radii >= sigmas].sum() <= ALLOWED


@pytest.mark.parametrize(
    ("sigmas", "n"), [(0.0, 10_000), (1.0, 10_000), (2.0, 10_000), (3.0, 20_000), (3.5, 40_000)]
)
def test_the_boundary_is_ever_crossed_at_a_null_no_more_often_than_alpha(sigmas: float, n: int) -> None:
    """Without the stop for hopelessness: the guarantee holds under any stopping, the worst included."""
    rule = GridRule(1.0, (sigmas,), n, ALPHA)
    generator, hits, crossed, before = np.random.default_rng(5), np.zeros(PATHS, dtype=np.int64), 0, 0
    for look, count in enumerate(rule.looks):
        hits += generator.binomial(count - before, special.ndtr(sigmas), len(hits))
        over = hits >= rule.needed[look, 0]
        crossed, hits, before = crossed + int(over.sum()), hits[~over], count
    assert crossed <= ALLOWED
    assert crossed >= 0.02 * ALPHA * PATHS  # a boundary that is never reached would be no test


@pytest.mark.parametrize("p", [0.02, 0.3, 0.45, 0.6, 0.8, 0.95])
def test_grid_certifies_nothing_false_far_below_a_threshold(grid: GridRule, p: float) -> None:
    draws, hits = run(grid, p, PATHS, seed=int(100 * p))
    radii, counts = distinct_radii(grid, draws, hits)
    assert counts[radii > max(special.ndtri(p), -0.1)].sum() <= ALLOWED
    assert counts[radii > special.ndtri(p) + 0.5].sum() == 0


@pytest.mark.parametrize("sigmas", [0.0, 0.5, 1.5, 2.5, 3.5])
def test_tolerance_claims_too_much_no_more_often_than_alpha(sigmas: float) -> None:
    rule = ToleranceRule(1.0, 0.1, 20_000, ALPHA)
    draws, hits = run(rule, float(special.ndtr(sigmas)), PATHS, seed=int(10 * sigmas))
    radii, counts = distinct_radii(rule, draws, hits)
    assert counts[radii > sigmas].sum() <= ALLOWED


@pytest.mark.parametrize(
    "rule",
    [FixedRule(1.0, 2000, ALPHA), GridRule(1.0, SIGMAS, 2000, ALPHA), ToleranceRule(1.0, 0.2, 2000, ALPHA)],
    ids=lambda rule: type(rule).__name__,
)
def test_more_failures_never_certify_more(rule: Rule) -> None:
    for draws in rule.looks:
        hits = np.arange(draws + 1)
        radii = np.nan_to_num(rule.radius(np.full_like(hits, draws), hits), nan=-1.0)
        assert (np.diff(radii) >= -1e-12).all()


def test_the_boundary_is_the_rule(grid: GridRule) -> None:
    """At each look the tabled count proves the radius and one hit fewer does not."""
    for look in (0, 3, 10, 50, len(grid.looks) - 1):
        draws = np.full(len(SIGMAS), grid.looks[look])
        needed = grid.needed[look]
        reachable = needed <= draws
        radii = np.array(SIGMAS)[reachable]
        assert (grid.radius(draws[reachable], needed[reachable]) >= radii).all()
        assert not (grid.radius(draws[reachable], needed[reachable] - 1) >= radii).any()


def test_a_grid_that_stops_has_climbed_everything_or_lost_hope(grid: GridRule) -> None:
    draws, hits = run(grid, 0.999, 2000, seed=3)
    radii = np.nan_to_num(grid.radius(draws, hits), nan=-1.0)
    early = draws < 100_000
    assert (radii[early] <= SIGMAS[-1]).all()
    assert (radii >= 2.5).mean() > 0.99


def test_a_flawless_image_costs_little_more_than_the_floor() -> None:
    """Without a failure 3 sigma needs 5,114 draws at a fixed n; the grid needs ln(2/alpha w) more."""
    draws, _ = run(GridRule(0.25, (0.0, 0.25, 0.5, 0.75), 100_000, ALPHA), 1.0, 10, seed=0)
    assert (draws <= 7_000 + 128).all()
    draws, _ = run(GridRule(0.25, (0.0, 0.25, 0.5, 0.75), 100_000, ALPHA), 0.1, 10, seed=0)
    assert (draws == 128).all()


def test_grid_loses_little_against_fixed_on_the_same_images() -> None:
    """Images spread over all probabilities: no cell of the table falls by more than 0.6 points."""
    generator = np.random.default_rng(1)
    grid, fixed = GridRule(1.0, SIGMAS[:6], 100_000, ALPHA), FixedRule(1.0, 100_000, ALPHA)
    rates = special.ndtr(generator.uniform(-1.0, 4.5, 4000))
    draws, hits = run(grid, rates, 4000, seed=2)
    radii = grid.radius(draws, hits)
    exact = fixed.radius(np.full(4000, 100_000), generator.binomial(100_000, rates))
    for r in SIGMAS[:6]:
        assert np.mean(radii >= r) >= np.mean(exact >= r) - 0.006
    assert draws.mean() < 30_000


def test_a_grid_with_all_of_alpha_for_early_looks_still_draws_until_it_knows() -> None:
    """With nothing left for the end the e-value decides throughout, as it does early with half of alpha."""
    rule = GridRule(1.0, SIGMAS[:5], 20_000, ALPHA, share=1.0)
    draws, hits = run(rule, 0.99, 500, seed=4)
    assert (draws > 128).all()
    radii = rule.radius(draws, hits)
    assert (radii >= 1.5).mean() > 0.9
    same = log_e_value(hits, draws, special.ndtr(1.5)) >= -np.log(ALPHA)
    assert ((radii >= 1.5) == same).all()


def test_tolerance_knows_the_radius_to_within_what_was_asked() -> None:
    rule = ToleranceRule(1.0, 0.2, 100_000, ALPHA)
    draws, hits = run(rule, float(special.ndtr(1.2)), 500, seed=0)
    radii = rule.radius(draws, hits)
    assert (radii > 1.2 - 0.2 - 0.05).all()
    assert draws.max() < 20_000


def test_simulated_draws_agree_with_the_paths(grid: GridRule) -> None:
    draws, _ = run(grid, 0.9, 2000, seed=0)
    assert simulate_draws(grid, np.full(2000, 0.9), seed=1).mean() == pytest.approx(draws.mean(), rel=0.1)
