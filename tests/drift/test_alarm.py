"""The alarm: hardly ever false however often one looks, and it comes when accuracy is lost."""

from __future__ import annotations

import numpy as np
import pytest

from drift.problems import rng
from wassermix.core.errors import InputError
from wassermix.drift.alarm import Alarm, Wealth


def test_false_alarms_over_a_long_stream_stay_below_the_level() -> None:
    alarm = Alarm(0.9, alpha=0.1)
    false = [max(alarm.run(rng(seed).binomial(50, 0.9, size=150) / 50)) >= 10 for seed in range(60)]
    assert np.mean(false) <= 0.1 + 3 * np.sqrt(0.09 / 60)


def test_a_real_loss_is_found_within_a_few_batches() -> None:
    wealth = Alarm(0.9, alpha=0.05).run(np.full(20, 0.75))
    assert next(place for place, value in enumerate(wealth) if value >= 20) < 8


def test_the_wealth_is_fair_at_the_threshold() -> None:
    """The mean over all outcomes of one batch is 1: a bet that cannot be won on average."""
    alarm, outcomes = Alarm(0.8), np.array([0.6, 0.8, 1.0])
    after = [alarm.update(Wealth(), value).value for value in outcomes]
    assert np.dot([0.25, 0.5, 0.25], after) == pytest.approx(1)


def test_a_very_long_loss_stays_a_number() -> None:
    """Three thousand batches at half the accuracy: the logarithm is far beyond what a float can hold."""
    alarm, wealth = Alarm(0.9), Wealth()
    for _ in range(3000):
        wealth = alarm.update(wealth, 0.45)
    assert max(wealth.logs) > 800
    assert np.isfinite(wealth.value)
    assert alarm.raised(wealth)


def test_a_floor_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        Alarm(1.2)
