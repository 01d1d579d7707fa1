"""The scikit-learn classifier keeps scikit-learn's own contract, and its certificates mean what they say."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

from wassermix.engine.estimator import RobustClassifier


def two_gaussians(samples: int = 300, gap: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, samples)
    return rng.normal(size=(samples, 3)) + gap * y[:, None] * np.array([1.0, 0.0, 0.0]), y


def nearest(rows: np.ndarray, row: np.ndarray) -> float:
    return float(np.linalg.norm(rows - row, axis=1).min())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_it_passes_scikit_learns_own_checks() -> None:
    # few updates of large batches: the checks fit it some fifty times
    check_estimator(RobustClassifier(updates=40, batch_size=128, sigma=0.1, options={"optimizer.lr": 0.1}))


def test_labels_of_any_type_come_back() -> None:
    x, y = two_gaussians()
    names = np.array(["benign", "malignant"])[y]
    model = RobustClassifier(updates=60).fit(x, names)
    assert set(model.predict(x)) == {"benign", "malignant"}
    assert model.score(x, names) > 0.85
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0, atol=1e-6)


def test_units_of_the_columns_do_not_matter() -> None:
    x, y = two_gaussians()
    one = RobustClassifier(updates=30).fit(x, y)
    other = RobustClassifier(updates=30).fit(x * [1e4, 1e-3, 1.0] + 7, y)
    np.testing.assert_allclose(one.predict_proba(x), other.predict_proba(x * [1e4, 1e-3, 1.0] + 7), atol=1e-3)


def test_a_certified_radius_is_below_the_distance_to_the_other_class() -> None:
    x, y = two_gaussians(gap=6.0)
    model = RobustClassifier(updates=100, sigma=0.5).fit(x, y)
    found = model.certify(x[:20], y[:20], n=500, n0=50)
    assert len(found.radius) == 20
    standard = (x - model.mean_) / model.scale_
    opposite = np.array(
        [np.linalg.norm(standard[y != label] - row, axis=1).min() for row, label in zip(standard[:20], y)]
    )
    right = found.correct.numpy()
    assert right.mean() > 0.7
    assert (found.radius.numpy()[right] < opposite[right]).all()


def test_a_label_that_fit_did_not_see_is_refused_by_certify() -> None:
    x, y = two_gaussians(60)
    with pytest.raises(ValueError, match="not among the classes"):
        RobustClassifier(updates=5).fit(x, y).certify(x[:2], [0, 7], n=100)


@pytest.mark.slow
def test_it_works_in_a_pipeline_and_a_grid_search() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    chain = make_pipeline(MinMaxScaler(), RobustClassifier(updates=80))
    search = GridSearchCV(chain, {"robustclassifier__sigma": [0.1, 0.5]}, cv=2).fit(x, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(RobustClassifier(updates=80, augment="mixup"), x, y, cv=2).mean() > 0.9


@pytest.mark.parametrize("method", ["erm", "pgd", "trades", "consistency"])
def test_methods_with_and_without_noise_of_their_own_can_be_named(method: str) -> None:
    x, y = two_gaussians()
    near = {"method.eps": 0.1} if method in ("pgd", "trades") else None
    assert RobustClassifier(method=method, updates=60, options=near).fit(x, y).score(x, y) > 0.8


def test_many_threads_may_ask_one_classifier() -> None:
    x, y = two_gaussians()
    model = RobustClassifier(updates=10).fit(x, y)
    alone = model.predict_proba(x)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict_proba(x), range(40)))
    assert all(np.array_equal(one, alone) for one in found)
