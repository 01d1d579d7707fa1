"""Two models that cross: told where a lead in radius is paid for with images, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from wassermix.certify.crossings import ON_GRID, Standing, crossing, each_of, level_words, standing


def half(first: int, second: int) -> Standing:
    """Of 500 images the first so many of each model at p = 0.5."""
    return standing(level_words(0.0, 1.0), np.arange(500) < first, np.arange(500) < second, confidence=0.95)


def test_a_lead_in_radius_that_costs_hard_images_is_said() -> None:
    said = crossing(("a", "b"), (1.8, 1.7), [half(400, 450)])
    assert said is not None
    assert "a has the larger average radius (1.800 against 1.700)" in said
    assert "p_A of at least 0.5 (80.0% against 90.0% of b)" in said
    assert said.endswith("has given up hard ones")


def test_the_same_is_said_whichever_model_is_named_first() -> None:
    there = crossing(("a", "b"), (1.8, 1.7), [half(400, 450)])
    assert crossing(("b", "a"), (1.7, 1.8), [half(450, 400)]) == there


@pytest.mark.parametrize(
    ("radii", "shares", "why"),
    [
        ((1.6, 1.7), (400, 450), "b leads in both"),
        ((1.8, 1.7), (400, 401), "by chance"),
        ((1.7001, 1.7), (400, 450), "the radii are printed alike"),
    ],
)
def test_nothing_is_said_where_two_models_do_not_cross(
    radii: tuple[float, float], shares: tuple[int, int], why: str
) -> None:
    assert crossing(("a", "b"), radii, [half(*shares)]) is None, why


def test_nothing_is_said_without_any_level() -> None:
    assert crossing(("a", "b"), (1.8, 1.7), []) is None


def test_of_several_levels_the_widest_gap_is_told() -> None:
    levels = [Standing(f"level {gap}", (0.5, 0.5 + gap), -2 * gap, -0.01) for gap in (0.02, 0.2, 0.1)]
    said = crossing(("a", "b"), (1.8, 1.7), levels)
    assert said is not None
    assert "level 0.2 (50.0% against 70.0% of b)" in said


def test_a_lead_at_high_levels_alone_gives_up_no_hard_images() -> None:
    levels = [Standing("low", (0.9, 0.8), 0.05, 0.15), Standing("high", (0.3, 0.4), -0.15, -0.05)]
    said = crossing(("a", "b"), (1.8, 1.7), levels)
    assert said is not None
    assert "shown to have high" in said
    assert said.endswith("depends on the radius that matters")


@pytest.mark.parametrize("sigma", [0.5, None])
def test_hard_images_are_given_up_only_where_radius_zero_shows_it_beyond_chance(sigma: float | None) -> None:
    small = Standing(level_words(0.25, sigma), (0.7, 0.8), -0.15, -0.05)
    for zero, shown in (((-0.08, 0.02), False), ((-0.08, -0.01), True)):
        lowest = Standing(level_words(0.0, sigma), (0.87, 0.9), *zero)
        said = crossing(("a", "b"), (1.8, 1.7), [lowest, small])
        assert said is not None
        assert said.endswith("has given up hard ones") == shown
    unseen = crossing(("a", "b"), (1.8, 1.7), [small])
    assert unseen is not None
    assert unseen.endswith("depends on the radius that matters")


def test_a_mean_of_rounded_radii_is_called_by_its_name() -> None:
    said = crossing(("a", "b"), (1.8, 1.7), [half(400, 450)], measure=ON_GRID)
    assert said is not None
    assert "a has the larger mean radius on the grid (rounded down)" in said


def test_a_radius_is_told_as_the_probability_it_stands_for() -> None:
    assert level_words(0.0, 0.5) == "p_A of at least 0.5"
    assert level_words(0.5, 0.5) == "p_A of at least 0.8413, radius 0.5"
    assert level_words(2.0, 0.5) == "p_A of at least 0.99997, radius 2"
    assert level_words(0.5, None) == "a radius of at least 0.5"


def test_a_lead_must_stand_out_from_all_levels_that_were_looked_at() -> None:
    first, second = np.arange(500) < 400, np.arange(500) < 406
    alone, among = (standing("p", first, second, confidence=each_of(count)) for count in (1, 20))
    assert alone.high < 0 < among.high
