"""All estimators through one contract, then each against its own formula."""

from __future__ import annotations

import numpy as np
import ot
import pytest
import torch

from drift.problems import classes, reference, seen, turned
from wassermix.core.errors import InputError
from wassermix.drift.estimators.plan import CarriedLabels, scaled_chances
from wassermix.drift.estimators.protocol import Estimator
from wassermix.drift.estimators.registry import ESTIMATORS, make_estimator

TOWARDS_ONE = torch.tensor([4.5, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("name", ESTIMATORS.names())
def test_every_estimator_gives_a_chance_for_each_sample(name: str) -> None:
    known, looker = reference(120)
    estimator = make_estimator(name).fit(known)
    chances = estimator.chances(seen(looker, classes(31, seed=9)[0]))
    assert isinstance(estimator, Estimator)
    assert chances.shape == (31,)
    assert chances.min() >= 0
    assert chances.max() <= 1


@pytest.mark.parametrize("name", [name for name in ESTIMATORS.names() if name != "random"])
def test_without_drift_every_estimator_is_near_the_truth(name: str) -> None:
    known, looker = reference(600)
    x, y = classes(300, seed=5)
    view = seen(looker, x)
    truth = (view.predicted == y.numpy()).mean()
    assert make_estimator(name).fit(known).chances(view).mean() == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("name", ["joint", "plan-input"])
def test_plans_see_a_failure_that_confidence_does_not(name: str) -> None:
    """Everything moves towards class 0: the model stays confident and is often wrong."""
    known, looker = reference(600)
    x, y = classes(300, seed=5)
    view = seen(looker, x + TOWARDS_ONE)
    truth = (view.predicted == y.numpy()).mean()
    assert truth < 0.6
    assert make_estimator("confidence").fit(known).chances(view).mean() > truth + 0.3
    assert make_estimator(name).fit(known).chances(view).mean() == pytest.approx(truth, abs=0.05)


def test_unless_it_may_move_a_relaxed_plan_takes_a_translation_for_label_shift() -> None:
    known, looker = reference(600)
    x, y = classes(300, seed=5)
    view = seen(looker, x + TOWARDS_ONE)
    still = CarriedLabels(relax=0.2).fit(known)
    assert still.chances(view).mean() > (view.predicted == y.numpy()).mean() + 0.2
    assert still.blocks(view)[0].growth[0] > 1.5


def test_where_it_fails_a_turn_is_no_gradient_map_and_misleads_every_plan() -> None:
    """Optimal plans cannot turn: half of each class goes to its neighbour's place."""
    known, looker = reference(600)
    x, y = classes(300, seed=5)
    view = seen(looker, turned(x))
    truth = (view.predicted == y.numpy()).mean()
    for name in ("joint", "plan-input"):
        assert make_estimator(name).fit(known).chances(view).mean() > truth + 0.1


def test_a_moved_copy_of_the_reference_is_estimated_exactly() -> None:
    """A translation is its own optimal plan: labels are carried without any error."""
    known, looker = reference(200)
    fold = known.folds(2)[0]
    x = classes(200, seed=0)[0][torch.from_numpy(fold)] + torch.tensor([0.0, 3.0, 0.0, 0.0])
    view = seen(looker, x)
    plan = CarriedLabels(corrected=False, folds=1, block=100).fit(known)
    assert plan.chances(view).mean() == pytest.approx((view.predicted == known.labels[fold]).mean(), abs=1e-9)


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.1, 5.0])
def test_a_correction_keeps_chances_in_range_and_scales_their_mean(factor: float) -> None:
    chances = np.array([1.0, 1.0, 0.2, 0.0, 0.9])
    scaled = scaled_chances(chances, factor)
    assert scaled.mean() == pytest.approx(min(1, factor * chances.mean()))
    assert scaled.min() >= 0
    assert scaled.max() <= 1


def test_the_threshold_leaves_the_accuracy_above_it() -> None:
    known, _ = reference(500)
    share = make_estimator("atc").fit(known).chances(known.view).mean()
    assert share == pytest.approx(known.accuracy, abs=1e-9)


def test_difference_of_confidence_is_exact_on_the_reference() -> None:
    known, _ = reference(500)
    chances = make_estimator("confidence-difference").fit(known).chances(known.view)
    assert chances.mean() == pytest.approx(known.accuracy, abs=0.01)  # clipping at 1 costs a little


def test_cot_is_one_less_the_transport_cost_to_one_hot_labels() -> None:
    known, looker = reference(60)
    view = seen(looker, classes(45, seed=3, spread=2.0)[0])
    p = known.probabilities(view)
    cost = 1 - p[:, known.labels].T
    whole = ot.emd2(np.full(60, 1 / 60), np.full(45, 1 / 45), cost)
    assert make_estimator("cot").fit(known).chances(view).mean() == pytest.approx(1 - whole, abs=1e-6)


def test_random_pairing_is_the_mean_over_all_pairs() -> None:
    known, looker = reference(50)
    view = seen(looker, classes(20, seed=3)[0])
    pairs = known.labels[:, None] == view.predicted
    assert make_estimator("random").fit(known).chances(view).mean() == pytest.approx(pairs.mean())


def test_blocks_change_little_and_cover_every_sample() -> None:
    known, looker = reference(600)
    view = seen(looker, classes(300, seed=5, spread=1.5)[0])
    whole, cut = (CarriedLabels(relax=0.2, block=b).fit(known) for b in (300, 100))
    assert sorted(np.unique(np.concatenate([b.rows for b in cut.blocks(view)]))) == list(range(300))
    assert cut.chances(view).mean() == pytest.approx(whole.chances(view).mean(), abs=0.04)


def test_an_estimator_of_the_users_own_takes_part() -> None:
    known, looker = reference(60)
    own = make_estimator("wassermix.drift.estimators.confidence:SourceAccuracy").fit(known)
    assert own.chances(seen(looker, classes(5, seed=1)[0])).tolist() == [known.accuracy] * 5


def test_an_unknown_estimator_is_named_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'joint'"):
        make_estimator("jiont")
