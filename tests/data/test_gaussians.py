"""Synthetic classes: against the closed forms that they exist for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from wassermix.core.errors import InputError
from wassermix.data import gaussian_means, load_data


@pytest.mark.parametrize(("classes", "dim"), [(2, 1), (2, 5), (3, 3), (4, 9)])
def test_means_are_equally_far_apart_around_the_origin(classes, dim):
    means = gaussian_means(classes, dim, 4.0)
    distances = torch.pdist(means)
    assert torch.allclose(distances, torch.full_like(distances, 4.0))
    assert means.sum(dim=0).abs().max() < 1e-12


def test_the_best_classifier_errs_as_often_as_the_closed_form_says():
    data = load_data("gaussians", dim=10, separation=3.0, sd=1.5, test_size=20_000)
    mu = gaussian_means(2, 10, 3.0)[1].float()
    x = data.test.get(torch.arange(20_000))
    errors = int(((x @ mu > 0).long() != data.test.y).sum())
    expected = stats.norm.sf(3.0 / (2 * 1.5))
    assert stats.binomtest(errors, 20_000, expected).pvalue > 1e-3
    sigma = 1.0
    noisy = x + sigma * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    errors = int(((noisy @ mu > 0).long() != data.test.y).sum())
    expected = stats.norm.sf(3.0 / (2 * math.hypot(1.5, sigma)))
    assert stats.binomtest(errors, 20_000, expected).pvalue > 1e-3


def test_each_class_is_an_isotropic_gaussian():
    data = load_data("gaussians", classes=3, dim=3, sd=0.5, train_size=9000)
    x, y = data.train.get(torch.arange(9000)).numpy(), data.train.y.numpy()
    for number, mean in enumerate(gaussian_means(3, 3, 4.0).numpy()):
        scaled = (x[y == number] - mean) / 0.5
        assert stats.kstest(scaled.ravel(), "norm").pvalue > 1e-3
        assert np.abs(np.cov(scaled.T) - np.eye(3)).max() < 0.1


def test_sizes_are_as_asked_with_or_without_a_held_out_part():
    for holdout in (0.0, 0.1, 0.3, 0.5):
        data = load_data("gaussians", train_size=101, test_size=33, holdout=holdout)
        assert (len(data.train), len(data.test)) == (101, 33)
        assert (data.holdout is None) == (holdout == 0)


def test_training_and_test_samples_differ_and_depend_on_the_seed_alone():
    first, again, other = (load_data("gaussians", seed=seed) for seed in (0, 0, 1))
    every = torch.arange(2000)
    assert torch.equal(first.train.get(every), again.train.get(every))
    assert not torch.equal(first.train.get(every), other.train.get(every))
    assert not torch.equal(first.train.get(every), first.test.get(every))


@pytest.mark.parametrize(
    "options",
    [
        {"classes": 1},
        {"classes": 5, "dim": 4},
        {"dim": 0},
        {"sd": 0.0},
        {"separation": math.nan},
        {"test_size": 0},
    ],
)
def test_impossible_settings_are_refused(options):
    with pytest.raises(InputError, match="data 'gaussians': got"):
        load_data("gaussians", **options)
