"""The geometry of a data set: against brute force, trees, and clouds whose answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples
from wassermix.embed import PCA, Pixel
from wassermix.geodesic.geometry import Geometry, Measured, data_geometry, measure_geometry, sentence
from wassermix.geodesic.geometry_settings import GeometrySettings


def _clusters(
    means: list[list[float]], count: int, *, spread: float = 0.1
) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    y = torch.arange(len(means)).repeat_interleave(count)
    points = torch.tensor(means)[y] + spread * torch.randn(len(y), len(means[0]), generator=rng)
    return points, y


def test_translated_classes_keep_all_their_spread_and_cost_the_translation() -> None:
    cloud = torch.randn(40, 3, generator=torch.Generator().manual_seed(1))
    z, y = torch.cat([cloud, cloud + 2.0]), torch.arange(2).repeat_interleave(40)
    found = measure_geometry(z, y, embed="pixel", pair_size=40, problems=3)
    expected = torch.cdist(z[:40].double(), z[40:].double()).square().mean()
    assert found.spread.exact == pytest.approx(1.0, abs=1e-6)
    assert found.kept == pytest.approx(1.0, abs=1e-6)
    assert found.cost.exact == pytest.approx(12.0 / float(expected), rel=1e-5)
    assert (found.cost.random, found.intrusion) == (1.0, None)


def test_every_measure_is_that_of_scipy_where_the_problem_holds_all_samples() -> None:
    z, y = _clusters([[0.0, 0.0], [1.0, 0.5], [0.5, -1.0]], 30, spread=0.6)
    found = measure_geometry(z, y, embed="pixel", pair_size=30, problems=3)
    points, labels = z.double().numpy(), y.numpy()
    tree = cKDTree(points)
    unit = tree.query(points, 2)[0][:, 1].mean()
    rows = []
    for a, b in itertools.combinations(range(3), 2):
        first, second = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
        matrix = ((points[first][:, None] - points[second]) ** 2).sum(-1)
        partner = second[linear_sum_assignment(matrix)[1]]
        middle = (points[first] + points[partner]) / 2
        far, near = tree.query(middle, 3)
        own = (near == first[:, None]) | (near == partner[:, None])
        pick = own.argmin(axis=1)  # the first of the three that is not one's own
        nearest = near[np.arange(30), pick]
        rows.append([
            matrix[linear_sum_assignment(matrix)].mean() / matrix.mean(),
            middle.var(0).sum() / ((points[first].var(0).sum() + points[second].var(0).sum()) / 2),
            far[np.arange(30), pick].mean() / unit,
            np.mean(~np.isin(labels[nearest], [a, b])),
        ])  # fmt: skip
    expected = np.mean(rows, axis=0)
    assert found.intrusion is not None
    measured = [found.cost.exact, found.spread.exact, found.nearest.exact, found.intrusion.exact]
    np.testing.assert_allclose(measured, expected, rtol=1e-3)


def test_random_pairs_halve_the_spread_and_the_differences_carry_their_error() -> None:
    z, y = _clusters([[0.0] * 5, [1.0] * 5], 400, spread=1.0)
    found = measure_geometry(z, y, embed="pixel", pair_size=200, problems=30)
    assert found.spread.random == pytest.approx(0.5, abs=0.03)
    assert found.spread.difference == pytest.approx(found.spread.exact - found.spread.random)
    assert 0 < found.spread.error < 0.02


def test_a_class_between_two_others_is_intruded_by_them_alone() -> None:
    z, y = _clusters([[0.0, 0.0], [5.0, 0.0], [10.0, 0.0]], 20)
    found = measure_geometry(z, y, embed="pixel", pair_size=20, problems=6)
    assert found.intrusion is not None
    assert found.intrusion.exact == pytest.approx(1 / 3)  # one of the three pairs of classes


def test_pairing_can_matter_in_few_dimensions_and_hardly_in_many() -> None:
    rng = torch.Generator().manual_seed(2)
    y = torch.arange(200) % 2
    words = {}
    for dim in (2, 200):
        z = torch.randn(200, dim, generator=rng) + 2 * y[:, None] / dim**0.5
        words[dim] = sentence([measure_geometry(z, y, embed="pixel", pair_size=64, problems=5)])
    assert "pairing can matter" in words[2]
    assert "pairing can hardly matter" in words[200]


@pytest.mark.parametrize(
    ("spread", "third", "error", "said"),
    [
        (0.6, (0.10, 0.05), 0.001, "land in a third class more often"),
        (0.6, (0.05, 0.10), 0.001, "land in a third class less often"),
        (0.6, (0.10, 0.09), 0.001, "can hardly matter"),  # a small difference
        (0.6, (0.10, 0.05), 0.050, "can hardly matter"),  # an uncertain one
        (0.8, (0.10, 0.10), 0.001, "keep most of the spread"),
    ],
)
def test_the_reason_is_given_where_there_is_one(
    spread: float, third: tuple[float, float], error: float, said: str
) -> None:
    same = Measured(1.0, 1.0, 0.0, 0.0)
    wide = Measured(spread, 0.5, spread - 0.5, 0.01)
    intruding = Measured(*third, third[0] - third[1], error)
    assert said in sentence([Geometry("pca", 8, 64, 20, same, wide, same, intruding)])


def test_a_sentence_speaks_of_the_largest_pair_size_and_of_third_classes_where_there_are_some() -> None:
    z, y = _clusters([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], 30)
    small, large = (measure_geometry(z, y, embed="pixel", pair_size=n, problems=3) for n in (4, 16))
    assert "With 16 samples" in sentence([small, large])
    assert "third class" in sentence([large])


def test_data_are_measured_in_every_embedding_at_every_size_that_two_classes_can_fill() -> None:
    z, y = _clusters([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]], 12)
    settings = GeometrySettings(pair_size=(4, 64, 256), problems=2)
    seen: list[tuple[int, int]] = []
    found = data_geometry(
        TensorSamples(z, y),
        [("pixel", Pixel()), ("pca:1", PCA(1))],
        settings,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [(one.embed, one.dim, one.pair_size) for one in found] == [
        ("pixel", 3, 4), ("pixel", 3, 12), ("pca:1", 1, 4), ("pca:1", 1, 12),
    ]  # fmt: skip
    assert seen[-1] == (4, 4)
    again = data_geometry(TensorSamples(z, y), [("pixel", Pixel())], settings)
    assert again == found[:2]


def test_what_cannot_be_measured_is_refused() -> None:
    one = TensorSamples(torch.randn(5, 2), torch.zeros(5, dtype=torch.int64))
    with pytest.raises(InputError, match="fewer than two classes"):
        data_geometry(one, [("pixel", Pixel())], GeometrySettings())
    with pytest.raises(InputError, match="at least 2"):
        data_geometry(one, [("pixel", Pixel())], GeometrySettings(pair_size=(1,)))


def test_copies_of_one_sample_leave_finite_numbers() -> None:
    z, y = _clusters([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 8)
    z[y < 2] = z[0].clone()
    settings = GeometrySettings(pair_size=(4,), problems=6)
    (one,) = data_geometry(TensorSamples(z, y), [("pixel", Pixel())], settings)
    for measured in (one.cost, one.spread, one.nearest):
        assert np.isfinite([measured.exact, measured.random]).all()
    assert "nan" not in sentence([one])
