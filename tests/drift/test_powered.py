"""The prediction-powered interval covers as it says, whatever the controls are worth."""

from __future__ import annotations

import numpy as np
import pytest

from drift.problems import rng
from wassermix.core.errors import InputError
from wassermix.drift.ask import ask
from wassermix.drift.interval import Interval
from wassermix.drift.powered import labels_only, powered_interval


def draws(control: str, *, weighted: bool, count: int = 200, m: int = 80) -> list[tuple[Interval, Interval]]:
    """Intervals over repeated worlds in which the model is right with chance 0.75 on average."""
    found = []
    for seed in range(count):
        source = rng(seed)
        chance = source.beta(1.5, 0.5, size=1000)
        correct = (source.random(1000) < chance).astype(float)
        controls = {"good": chance, "useless": source.random(1000), "lying": 1 - chance}[control][:, None]
        if weighted:
            asked = ask(chance, m, rng=source)
            index, weights = asked.index, asked.weights
        else:
            index, weights = source.choice(1000, m, replace=False), None
        powered = powered_interval(correct[index], index, controls, weights=weights, rng=source)
        found.append((powered, labels_only(correct[index], weights=weights)))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("control", ["good", "useless", "lying"])
def test_the_interval_covers_the_truth_whatever_the_controls(control: str, weighted: bool) -> None:
    covered = np.mean([one.low <= 0.75 <= one.high for one, _ in draws(control, weighted=weighted)])
    assert 0.89 <= covered <= 1  # 200 draws at 95%: four standard errors


@pytest.mark.parametrize("accuracy", [0.9, 0.95, 0.98])
@pytest.mark.parametrize("m", [30, 100])
def test_the_interval_covers_the_truth_of_a_model_that_is_hardly_ever_wrong(accuracy: float, m: int) -> None:
    covered = []
    for seed in range(300):
        source = rng(seed)
        chance = np.clip(accuracy + 0.5 * (1 - accuracy) * source.normal(size=1000), 0, 1)
        correct = (source.random(1000) < chance).astype(float)
        index = source.choice(1000, m)
        for one in (
            powered_interval(correct[index], index, chance[:, None], rng=source),
            labels_only(correct[index]),
        ):
            covered.append(one.low <= correct.mean() <= one.high)
            assert one.low <= one.estimate <= one.high
    assert np.mean(covered) >= 0.925  # 95% less three standard errors of 300 independent worlds


def test_good_controls_make_it_narrower_and_useless_ones_hardly_wider() -> None:
    for control, low, high in (("good", 0.0, 0.93), ("useless", 0.9, 1.1)):
        widths = np.array(
            [(a.half_width, b.half_width) for a, b in draws(control, weighted=False, count=100)]
        )
        ratio = widths[:, 0].mean() / widths[:, 1].mean()
        assert low < ratio < high


def test_asking_where_the_estimate_is_unsure_is_better_than_a_uniform_draw() -> None:
    uniform, asked = (
        np.mean([one.half_width for one, _ in draws("good", weighted=weighted, count=60)])
        for weighted in (False, True)
    )
    assert asked < uniform


def test_the_weights_of_a_question_average_to_one() -> None:
    chances = rng(3).random(500)
    weights = np.concatenate([ask(chances, 200, rng=rng(seed)).weights for seed in range(50)])
    assert weights.mean() == pytest.approx(1, abs=0.03)
    assert weights.max() <= 1 / 0.3 + 1e-9


def test_all_right_is_not_taken_for_certain() -> None:
    correct = np.ones(20)
    interval = powered_interval(correct, np.arange(20), np.ones((100, 1)), rng=rng())
    assert interval.high - interval.low > 0.05


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(InputError, match="3 labels are too few"):
        powered_interval(np.ones(3), np.arange(3), np.ones((10, 1)), rng=rng())
