"""The estimate of a whole command, on a clock that the test turns."""

from __future__ import annotations

import pytest

from wassermix.core.whole import Whole


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def spend(whole: Whole, clock: Clock, seconds: float) -> None:
    with whole.part():
        clock.now += seconds


def test_nothing_is_said_before_anything_is_known() -> None:
    assert Whole(["training", "certifying"], clock=Clock()).seconds_left is None


def test_a_part_to_come_is_expected_to_take_as_long_as_those_of_its_sort() -> None:
    clock = Clock()
    whole = Whole(["training", "certifying", "training", "certifying"], clock=clock)
    spend(whole, clock, 30)
    spend(whole, clock, 10)
    assert whole.seconds_left == pytest.approx(40)
    assert whole.share == pytest.approx(0.5)
    spend(whole, clock, 50)
    assert whole.seconds_left == pytest.approx(10)
    spend(whole, clock, 10)
    assert (whole.seconds_left, whole.share) == (0.0, 1.0)


def test_the_current_part_is_judged_by_its_own_pace() -> None:
    clock = Clock()
    whole = Whole(["training"] * 3, clock=clock)
    with whole.part():
        clock.now += 5
        assert whole.at(0.25) == pytest.approx(5 / 60)  # 20 seconds for each of three parts
        assert whole.seconds_left == pytest.approx(55)
        clock.now += 15


def test_weights_stand_in_for_sorts_of_work_that_were_not_seen_yet() -> None:
    clock = Clock()
    whole = Whole(["training", "auditing"], weights={"training": 4}, clock=clock)
    spend(whole, clock, 40)
    assert whole.seconds_left == pytest.approx(10)


def test_parts_that_were_done_already_do_not_make_the_rest_look_short() -> None:
    clock = Clock()
    whole = Whole(["training"] * 4, clock=clock)
    spend(whole, clock, 0.01)
    spend(whole, clock, 20)
    assert whole.seconds_left == pytest.approx(40)


def test_a_late_part_never_has_negative_time_left() -> None:
    clock = Clock()
    whole = Whole(["training", "training"], clock=clock)
    spend(whole, clock, 10)
    with whole.part():
        clock.now += 100
        assert whole.seconds_left == 0.0
