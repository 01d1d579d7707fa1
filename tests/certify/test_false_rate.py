"""The exact probability of a false certificate at the nulls, which no simulation could resolve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from certify.exact_rate import false_rate
from wassermix.certify.fixed import FixedRule
from wassermix.certify.grid import GridRule
from wassermix.certify.prior import learn_prior
from wassermix.certify.tolerance import ToleranceRule
from wassermix.core.errors import InputError

ALPHA = 0.001
RADII = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
PRIOR = ((0.7, 50.0, 1.0), (0.3, 2.0, 1.0))


@pytest.fixture(scope="module", params=[(), PRIOR], ids=["jeffreys", "learnt"])
def grid(request: pytest.FixtureRequest) -> GridRule:
    return GridRule(1.0, RADII, 20_000, ALPHA, prior=request.param)


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0, 3.0])
def test_grid_certifies_falsely_less_often_than_alpha(grid: GridRule, radius: float) -> None:
    threshold = float(special.ndtr(radius))
    rates = [
        false_rate(grid, p, final_level=ALPHA / 2, threshold=threshold) for p in (threshold, 0.98 * threshold)
    ]
    assert 1e-4 < rates[0] <= ALPHA
    assert rates[1] < rates[0]


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0, 3.0])
def test_a_prior_without_mass_above_a_null_proves_nothing_falsely(radius: float) -> None:
    """Beta(1/2, 400) has no mass above Phi(1) that floating point can tell from none."""
    threshold = float(special.ndtr(radius))
    rule = GridRule(1.0, RADII, 3000, ALPHA, prior=((1.0, 0.5, 400.0),))
    for p in (threshold, 0.999 * threshold):
        assert false_rate(rule, p, final_level=ALPHA / 2, threshold=threshold) <= ALPHA


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
def test_tolerance_keeps_half_of_its_alpha_for_the_end_of_the_budget(radius: float) -> None:
    """A tolerance that 2,000 draws cannot reach: the bound at the end certifies, at its own level."""
    threshold = float(special.ndtr(radius))
    rules = [ToleranceRule(1.0, 0.01, 2000, ALPHA, share=share) for share in (0.5, 1.0)]
    rate, former = (
        false_rate(rule, threshold, final_level=(1 - rule.share) * ALPHA, threshold=threshold)
        for rule in rules
    )
    assert former < 1e-5
    assert rate == pytest.approx(ALPHA / 2, rel=0.01)


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_fixed_certifies_falsely_with_probability_alpha(radius: float) -> None:
    threshold = float(special.ndtr(radius))
    rate = false_rate(FixedRule(1.0, 5000, ALPHA), threshold, final_level=ALPHA, threshold=threshold)
    assert 0.9 * ALPHA <= rate <= ALPHA * (1 + 1e-6)


def test_a_learnt_prior_leans_towards_what_it_has_seen() -> None:
    certain, doubtful = (learn_prior(np.full(100, hits), 1000) for hits in (1000, 700))
    means = [sum(weight * a / (a + b) for weight, a, b in prior) for prior in (certain, doubtful)]
    assert means[0] > 0.95 > 0.85 > means[1]
    for prior in (certain, doubtful):
        assert sum(weight for weight, _, _ in prior) == pytest.approx(1.0)
        assert min(weight for weight, _, _ in prior) > 0
    with pytest.raises(InputError, match="hits <= draws"):
        learn_prior([3], [2])
