"""Learning rates at the moments that define each schedule, and budgets in their three units."""

from __future__ import annotations

import pytest

from wassermix.engine.budget import make_budget
from wassermix.engine.schedule import lr_factor
from wassermix.engine.sections import Schedule
from wassermix.engine.settings import build_config
from wassermix.recipes import load_recipe


@pytest.mark.parametrize(("share", "factor"), [(0, 1), (0.33, 1), (0.34, 0.1), (0.67, 0.01), (1, 0.01)])
def test_steps_drop_at_their_shares(share: float, factor: float) -> None:
    assert lr_factor(Schedule(name="step"), share) == pytest.approx(factor)


def test_one_cycle_rises_to_one_and_falls_to_nothing() -> None:
    one_cycle = Schedule(name="onecycle", warm_up=0.25)
    assert lr_factor(one_cycle, 0) == pytest.approx(0.04)
    assert lr_factor(one_cycle, 0.25) == pytest.approx(1)
    assert lr_factor(one_cycle, 0.625) == pytest.approx(0.5)
    assert lr_factor(one_cycle, 1) == pytest.approx(0)


def test_cosine_and_constant_at_the_middle() -> None:
    assert lr_factor(Schedule(name="cosine"), 0.5) == pytest.approx(0.5)
    assert lr_factor(Schedule(name="constant"), 0.9) == 1


@pytest.mark.parametrize(
    ("overrides", "updates", "passes", "share"),
    [
        ({"epochs": 2}, 40, 0, 0.5),  # 2 epochs of 40 updates
        ({"updates": 50}, 25, 0, 0.5),
        ({"budget": "passes:1000"}, 3, 250, 0.25),
        ({"epochs": 2, "updates_per_batch": 4}, 80, 0, 0.25),
    ],
)
def test_a_budget_is_spent_in_its_own_unit(
    overrides: dict[str, object], updates: int, passes: float, share: float
) -> None:
    config = build_config(load_recipe("demo"), {"batch_size": 100, **overrides})
    assert make_budget(config, samples_per_epoch=4000).share(updates=updates, passes=passes) == share
