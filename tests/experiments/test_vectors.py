"""The study on vectors: its data, its rows and its statistics, each against something independent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import linear_sum_assignment

from wassermix.experiments import load_claims, vectors
from wassermix.experiments.vector_data import VECTORS, load_vectors, rings
from wassermix.experiments.vector_training import ROWS, Training, between_classes, train_vectors
from wassermix.experiments.verdicts import judge_study

SHORT = Training(updates=15, real=8, refresh=5, hidden=(8,))


@pytest.mark.parametrize("name", VECTORS)
def test_splits_are_standardised_apart_and_fixed_by_the_seed(name: str) -> None:
    split, again, other = load_vectors(name, 0), load_vectors(name, 0), load_vectors(name, 1)
    assert torch.equal(split.x, again.x)
    assert not torch.equal(split.x, other.x)
    np.testing.assert_allclose(split.x.mean(dim=0), 0, atol=1e-5)
    varied = split.x.std(dim=0, correction=0)
    np.testing.assert_allclose(varied[varied > 0], 1, atol=1e-4)
    assert len(split.x) <= 200
    assert set(split.y_test.tolist()) <= set(range(split.classes))


def test_the_rings_have_their_radii() -> None:
    x, y = rings(3000, generator=np.random.default_rng(0))
    for label in range(3):
        assert np.linalg.norm(x[y == label], axis=1).mean() == pytest.approx(1 + label, abs=0.03)


@pytest.mark.parametrize("exact", [True, False])
def test_points_between_classes_lie_on_the_segments_of_their_pairing(exact: bool) -> None:
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(24, 3, generator=rng), torch.arange(24) % 2
    points, labels = between_classes(x, y, exact=exact, generator=torch.Generator().manual_seed(1))
    assert points.shape == (24, 3)
    np.testing.assert_allclose(labels.sum(dim=1), 1, atol=1e-6)
    assert labels[:12, 0].min() >= 0.5  # each is nearer to the class that it starts from
    assert labels[12:, 1].min() >= 0.5
    t = labels[:12, 1:2]
    there, back = points[:12], points[12:]
    start, end = ((1 - t) * there - t * back) / (1 - 2 * t), ((1 - t) * back - t * there) / (1 - 2 * t)
    cost = float((start - end).square().sum())
    matrix = torch.cdist(x[y == 0], x[y == 1]).square().numpy()
    least = matrix[linear_sum_assignment(matrix)].sum()
    assert cost == pytest.approx(least, rel=1e-3) if exact else cost > 1.1 * least


def test_both_pairings_draw_the_same_samples_at_the_same_times() -> None:
    x, y = torch.randn(20, 2, generator=torch.Generator().manual_seed(2)), torch.arange(20) % 2
    first, second = (
        between_classes(x, y, exact=exact, generator=torch.Generator().manual_seed(3))
        for exact in (True, False)
    )
    assert torch.equal(first[1], second[1])
    assert not torch.allclose(first[0], second[0])


@pytest.mark.parametrize("row", ROWS)
def test_networks_trained_side_by_side_are_those_trained_alone(row: str) -> None:
    splits = [load_vectors("iris", seed) for seed in (0, 1, 2)]
    together = train_vectors(splits, row, SHORT, seeds=(0, 1, 2))
    (alone,) = train_vectors(splits[1:2], row, SHORT, seeds=(1,))
    for name, weight in alone.state_dict().items():
        torch.testing.assert_close(together[1].state_dict()[name], weight, rtol=1e-3, atol=1e-4)


def test_a_network_learns_and_rows_share_their_start() -> None:
    splits = [load_vectors("wine", 0)]
    (model,) = train_vectors(splits, "plain", Training(updates=150), seeds=(0,))
    assert vectors._accuracy(model, splits[0]) > 0.9
    still = Training(updates=0, hidden=(8,))
    first, second = (train_vectors(splits, row, still, seeds=(4,))[0] for row in ("plain", "jitter"))
    assert torch.equal(first.state_dict()["fc.weight"], second.state_dict()["fc.weight"])


def test_a_difference_is_scipys_paired_interval() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, 10), rng.normal(0, 1, 10)
    found = vectors._difference(first.tolist(), second.tolist())
    interval = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))


def test_the_study_and_the_verdicts_have_one_interval_for_the_mean_over_the_tables() -> None:
    kept = json.loads((Path(__file__).parents[2] / "results" / "vectors.json").read_text())
    pairs = kept["overall"]["exact pairs - random pairs"]
    verdicts = [one for one in judge_study("vectors", load_claims(), kept) if "four tables" in one.what]
    assert len(verdicts) == 2
    for verdict, found in zip(verdicts, (pairs["accuracy"], pairs["radius"])):
        assert verdict.measured is not None
        assert verdict.measured.estimate.interval() == pytest.approx((found["low"], found["high"]))


def test_the_mean_over_the_tables_adds_their_errors_in_squares_by_students_law() -> None:
    gaps = {"a - b": {key: {"mean": 1.0, "error": 0.3} for key in vectors.MEASURES}}
    far = {"a - b": {key: {"mean": 3.0, "error": 0.4} for key in vectors.MEASURES}}
    cells = {"one": {"differences": gaps}, "other": {"differences": far}, "rings x1": {"differences": {}}}
    found = vectors._overall(cells, "a", "b")["radius"]
    assert (found["mean"], found["error"]) == pytest.approx((2.0, 0.25))
    assert found["high"] - found["mean"] == pytest.approx(0.25 * stats.t.ppf(0.975, 9))


def test_the_study_goes_on_where_it_stopped_and_compares_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "CELLS", [("iris", 1), ("rings", 3)])
    monkeypatch.setattr(vectors, "SEEDS", (0, 1))
    monkeypatch.setattr(
        vectors, "Training", lambda **given: Training(updates=4, real=8, hidden=(4,), **given)
    )
    monkeypatch.setattr(vectors, "DRAWS", 100)
    told: list[str] = []
    record = vectors.run(tmp_path, lambda what, share: told.append(what))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert len(files) == 2 * len(ROWS) == len(told)
    assert vectors.run(tmp_path, lambda what, share: None) == record
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == files
    cell = record["cells"]["iris x1"]
    gap = cell["rows"]["exact pairs"]["radius"] - cell["rows"]["random pairs"]["radius"]
    assert cell["differences"]["exact pairs - random pairs"]["radius"]["mean"] == pytest.approx(gap)
    only = cell["differences"]["jitter - plain"]["radius"][
        "mean"
    ]  # rings are left out of the mean over tables
    assert record["overall"]["jitter - plain"]["radius"]["mean"] == pytest.approx(only)
    json.dumps(record, allow_nan=False)
