"""Held-out parts, smaller training sets, and the statistics for the model's first layer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import TensorSplit, load_data, split_statistics


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (200, 6, 5, 3), dtype=np.uint8)
    np.savez(path / "a.npz", x_train=x, y_train=np.arange(200) % 4, x_test=x[:20], y_test=np.arange(20) % 4)
    return path


def test_the_held_out_part_and_the_rest_are_the_training_set(folder):
    whole = load_data(folder / "a.npz")
    data = load_data(folder / "a.npz", holdout=0.2)
    assert data.holdout is not None
    assert (len(data.train), len(data.holdout), len(data.test)) == (160, 40, 20)
    assert torch.bincount(data.holdout.y).tolist() == [10] * 4
    both = torch.cat([data.train.get(torch.arange(160)), data.holdout.get(torch.arange(40))])
    everything = whole.train.get(torch.arange(200))
    assert sorted(both.flatten(1).sum(1).tolist()) == sorted(everything.flatten(1).sum(1).tolist())
    assert whole.holdout is None


def test_a_smaller_training_set_keeps_the_held_out_part_as_it_is(folder):
    large = load_data(folder / "a.npz", holdout=0.2)
    small = load_data(folder / "a.npz", holdout=0.2, train_size=40)
    assert large.holdout is not None
    assert small.holdout is not None
    assert torch.equal(large.holdout.get(torch.arange(40)), small.holdout.get(torch.arange(40)))
    assert torch.bincount(small.train.y).tolist() == [10] * 4


def test_the_seed_decides_what_is_held_out(folder):
    parts = [load_data(folder / "a.npz", holdout=0.2, seed=seed).holdout for seed in (0, 0, 1)]
    first, again, other = (part.get(torch.arange(40)) for part in parts if part is not None)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": 1.0}, "data.holdout is 1.0"),
        ({"holdout": -0.1}, "data.holdout is -0.1"),
        ({"train_size": 3}, "data.train_size would leave 3"),
        ({"train_size": 201}, "between 4 .* and 200"),
    ],
)
def test_impossible_parts_are_refused(folder, options, message):
    with pytest.raises(InputError, match=message):
        load_data(folder / "a.npz", **options)


def test_statistics_of_colour_images_are_those_of_the_training_pixels(folder):
    data = load_data(folder / "a.npz", holdout=0.5)
    pixels = data.train.get(torch.arange(len(data.train))).double().numpy()
    mean, std = data.statistics()
    np.testing.assert_allclose(mean, pixels.mean(axis=(0, 2, 3)), atol=1e-7)
    np.testing.assert_allclose(std, pixels.std(axis=(0, 2, 3)), atol=1e-7)


def test_statistics_of_features_survive_large_offsets_and_constants():
    rng = np.random.default_rng(1)
    x = np.stack([1e4 + rng.normal(size=500), np.full(500, 7.0), rng.normal(size=500) * 3], axis=1)
    split = TensorSplit(torch.from_numpy(x.astype(np.float32)), torch.zeros(500).long())
    mean, std = split_statistics(split)
    np.testing.assert_allclose(mean, x.astype(np.float32).astype(np.float64).mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(std[0], x[:, 0].std(), rtol=1e-3)
    assert std[1] == 1.0


def test_grey_images_are_left_as_they_are():
    assert load_data("mnist5k").statistics() == ((0.0,), (1.0,))
