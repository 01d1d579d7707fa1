"""The whole check in the words of its users: estimate, interval, tests, what moved, labels, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import wassermix as wm
from drift.problems import Corners, classes, reference, rng, seen
from wassermix.core.errors import InputError
from wassermix.core.files import write_json
from wassermix.core.intervals import holm
from wassermix.core.settings import options_of
from wassermix.drift.check import disagreement_of
from wassermix.drift.estimators.plan import CarriedLabels
from wassermix.drift.interval import resampled
from wassermix.drift.labelled import read_labels
from wassermix.drift.result import DriftResult, read_result
from wassermix.drift.settings import DriftSettings

FAST = {"permutations": 39, "resamples": 20, "points": 5}


@pytest.fixture(scope="module")
def monitor() -> wm.DriftMonitor:
    return wm.DriftMonitor(Corners(), **FAST).fit(*classes(600, seed=0))


@pytest.fixture(scope="module")
def moved(monitor: wm.DriftMonitor) -> DriftResult:
    x, y = classes(300, seed=1)
    return monitor.check(x + torch.tensor([4.5, 0.0, 0.0, 8.0]), y=y)


def test_a_harmful_shift_is_estimated_tested_and_located(moved: DriftResult) -> None:
    assert moved.truth == pytest.approx(moved.estimate.estimate, abs=0.05)
    assert moved.estimate.low <= moved.truth <= moved.estimate.high
    assert moved.drifted
    assert moved.moved.columns[0].name == "column 3"  # the model does not look at it
    assert moved.moved.columns[0].shift == pytest.approx(8, rel=0.2)
    assert moved.way is not None
    assert moved.way.accuracy[0] > 0.9
    assert moved.way.fails_at is not None
    assert 0 < moved.way.fails_at < 1
    assert any("far away" in doubt for doubt in moved.doubts)


def test_nothing_is_found_where_nothing_moved(monitor: wm.DriftMonitor) -> None:
    found = monitor.check(classes(300, seed=2)[0])
    assert not found.drifted
    assert abs(found.loss) < 0.04
    assert found.doubts == ()
    assert found.way is not None
    assert found.way.fails_at is None


def test_every_class_has_its_own_estimate(moved: DriftResult) -> None:
    assert sum(one.decided for one in moved.classes) == 300
    whole = sum(one.decided * (one.accuracy or 0.0) for one in moved.classes) / 300
    assert whole == pytest.approx(moved.estimate.estimate)


def test_label_shift_is_named_and_hardly_misleads(monitor: wm.DriftMonitor) -> None:
    x, y = classes(900, seed=3)
    kept = (y != 2) | (torch.arange(900) % 15 == 2)
    found = monitor.check(x[kept], y=y[kept])
    assert any("label shift" in doubt for doubt in found.doubts)
    assert found.estimate.estimate == pytest.approx(found.truth, abs=0.05)
    assert found.estimates["plan-input"] < found.truth - 0.15  # the balanced plan is misled


def test_labels_narrow_it_down(monitor: wm.DriftMonitor) -> None:
    x, y = classes(600, seed=4, spread=2.0)
    asked = monitor.ask(x, 150)
    powered = monitor.certify(x, labelled=(asked.index, y[asked.index], asked.weights))
    truth = float((Corners()(x).argmax(1) == y).float().mean())
    assert powered.labels == 150
    assert powered.interval.low - 0.03 <= truth <= powered.interval.high + 0.03
    assert powered.interval.half_width < powered.labels_only.half_width


def test_a_result_survives_its_file(moved: DriftResult, tmp_path: Path) -> None:
    write_json(tmp_path / "one.json", moved.record())
    assert read_result(tmp_path / "one.json").record() == moved.record()


def test_a_classifier_with_predict_proba_is_a_model() -> None:
    class Own:
        def predict_proba(self, x: np.ndarray) -> np.ndarray:
            return Corners()(torch.from_numpy(x)).softmax(1).detach().numpy()

    x, y = classes(200, seed=0)
    own = wm.DriftMonitor(Own(), **FAST).fit(x.numpy(), y.numpy()).check(classes(100, seed=1)[0].numpy())
    assert own.reference_accuracy == pytest.approx(float((Corners()(x).argmax(1) == y).float().mean()))


def test_a_million_rows_are_sub_sampled_and_that_is_said() -> None:
    small = wm.DriftMonitor(Corners(), samples=200, **FAST).fit(*classes(200, seed=0))
    found = small.check(classes(300, seed=2)[0].repeat(3334, 1)[:1_000_000])
    assert (found.new_count, found.used_count) == (1_000_000, 200)
    assert "200 of 1000000" in found.notes[-1]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.zeros(10, 5), "shape"),
        (torch.zeros(1, 4), "1 new samples"),
        (torch.full((10, 4), float("nan")), "NaN"),
        (torch.zeros(4), "one row for each"),
    ],
)
def test_bad_new_data_is_a_sentence(monitor: wm.DriftMonitor, x: torch.Tensor, words: str) -> None:
    with pytest.raises(InputError, match=words):
        monitor.check(x)


def test_a_class_that_the_reference_lacks_is_named() -> None:
    x, y = classes(300, seed=0)
    lacking = wm.DriftMonitor(Corners(), **FAST).fit(x[y != 2], y[y != 2])
    assert any("class 2" in doubt and "no sample" in doubt for doubt in lacking.check(x).doubts)


def test_bad_labels_and_settings_are_sentences(monitor: wm.DriftMonitor) -> None:
    x = classes(50, seed=0)[0]
    with pytest.raises(InputError, match="rows 0 to 49"):
        monitor.certify(x, labelled=([50] * 20, [0] * 20))
    with pytest.raises(InputError, match="0 to 2"):
        monitor.certify(x, labelled=(list(range(20)), [3] * 20))
    with pytest.raises(InputError, match="did you mean 'samples'"):
        wm.DriftMonitor(Corners(), sampels=3)
    with pytest.raises(InputError, match="call fit"):
        wm.DriftMonitor(Corners()).check(x)
    with pytest.raises(InputError, match="is not in the model"):
        wm.DriftMonitor(Corners(), layer="none").fit(*classes(20, seed=0))


def test_labels_that_are_no_classes_are_sentences(monitor: wm.DriftMonitor) -> None:
    x, y = classes(50, seed=0)
    rows = list(range(20))
    with pytest.raises(InputError, match="not whole numbers"):
        wm.DriftMonitor(Corners(), **FAST).fit(x, y + 0.5)
    with pytest.raises(InputError, match="40 labels for 50 samples"):
        wm.DriftMonitor(Corners(), **FAST).fit(x, y[:40])
    with pytest.raises(InputError, match="40 labels for 50 samples"):
        monitor.check(x, y=y[:40])
    with pytest.raises(InputError, match="not whole numbers"):
        monitor.certify(x, labelled=(rows, np.full(20, 0.7)))
    with pytest.raises(InputError, match="expected whole numbers"):
        monitor.certify(x, labelled=(np.arange(20) + 0.5, y[:20]))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(19), "for 20 labels"),
        (np.r_[np.ones(19), 0.0], "positive"),
        (np.full(20, np.nan), "positive"),
    ],
)
def test_weights_of_no_draw_are_sentences(monitor: wm.DriftMonitor, weights: np.ndarray, words: str) -> None:
    x, y = classes(50, seed=0)
    with pytest.raises(InputError, match=words):
        monitor.certify(x, labelled=(range(20), y[:20], weights))


def test_a_label_file_with_a_fraction_is_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("index,label\n" + "".join(f"{row},0.7\n" for row in range(12)))
    with pytest.raises(InputError, match="not whole numbers"):
        read_labels(tmp_path / "labels.csv")


def test_a_model_that_answers_no_logits_is_a_sentence() -> None:
    with pytest.raises(InputError, match="answers a dict"):
        wm.DriftMonitor(lambda x: {"logits": x[:, :3]}, **FAST).fit(*classes(50, seed=0))


def test_what_is_shown_beside_leaves_the_interval_as_it_is() -> None:
    x = classes(200, seed=1, spread=1.6)[0]
    shown = [("plan-input", "cot", "neighbour"), ("atc",), ()]
    found = [wm.DriftMonitor(Corners(), beside=names, **FAST).fit(*classes(200, seed=0)) for names in shown]
    first, *others = [one.check(x).estimate for one in found]
    assert others == [first, first]


def test_a_leading_estimator_is_no_witness_of_its_own() -> None:
    estimates = {"cot": 0.8, "plan-input": 0.7, "neighbour": 0.6, "joint": 0.9}
    assert disagreement_of(estimates, "cot") == pytest.approx(0.15)  # of 0.1 and 0.2
    assert disagreement_of(estimates, "joint") == pytest.approx(0.2)


@pytest.mark.parametrize(("alpha", "few"), [(0.05, 38), (0.01, 198), (0.05, -3)])
def test_deals_that_can_never_reject_are_refused(alpha: float, few: int) -> None:
    needed = round(2 / alpha) - 1
    with pytest.raises(InputError, match=f"expected {needed} or more"):
        DriftSettings(alpha=alpha, permutations=few)
    far = [1 / (1 + needed)] * 2  # nothing dealt was as far apart
    assert min(holm(far)) <= alpha
    assert DriftSettings(alpha=alpha, permutations=needed).permutations == needed


def test_the_level_is_that_of_the_interval_from_labels_alone() -> None:
    """The help must say so: the interval without labels is as wide at any level."""
    x, asked = classes(200, seed=1, spread=1.6), {"labelled": (range(100), classes(200, seed=1)[1][:100])}
    sure, bold = (
        wm.DriftMonitor(Corners(), confidence=level, **FAST).fit(*classes(200, seed=0))
        for level in (0.99, 0.5)
    )
    assert sure.check(x[0]).estimate == bold.check(x[0]).estimate
    wide, narrow = (one.certify(x[0], **asked).interval for one in (sure, bold))
    assert wide.half_width > narrow.half_width
    said = {option.name: option.help for option in options_of(DriftSettings)}["confidence"]
    assert said.startswith("level of the interval from labels;")


def test_resampling_spreads_as_much_as_fresh_draws_do() -> None:
    """Over fresh reference and new samples the estimate varies; the resampled spread must say by how much."""
    estimates, spreads = [], []
    for seed in range(12):
        known, looker = reference(160, seed=100 + seed)
        view = seen(looker, classes(80, seed=500 + seed, spread=1.8)[0])
        plan = CarriedLabels(relax=0.1).fit(known)
        blocks = plan.blocks(view)
        estimates.append(plan.chances_from(blocks, view).mean())
        spreads.append(resampled(plan, blocks, view, count=40, rng=rng(seed)).std())
    assert 0.5 < np.mean(spreads) / np.std(estimates, ddof=1) < 2
