"""The user's arrays: each layout recognised, what is ambiguous or wrong refused with a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import load_data

RNG = np.random.default_rng(0)


def save(path, x, y=None, **changes):
    y = np.arange(len(x)) % 3 if y is None else y
    arrays = {"x_train": x, "y_train": y, "x_test": x[:6], "y_test": y[:6], **changes}
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def pixels(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(
    ("stored", "axes"),
    [
        ((12, 8, 9), None),
        ((12, 8, 9, 3), (0, 3, 1, 2)),
        ((12, 8, 9, 1), (0, 3, 1, 2)),
        ((12, 3, 8, 9), (0, 1, 2, 3)),
    ],
)
def test_layouts_are_recognised(tmp_path, stored, axes):
    x = pixels(*stored)
    data = load_data(save(tmp_path / "a.npz", x))
    expected = x[:, None] if axes is None else x.transpose(axes)
    assert data.kind == "image"
    assert data.shape == expected.shape[1:]
    np.testing.assert_array_equal((data.train.get(torch.arange(12)) * 255).round().numpy(), expected)


@pytest.mark.parametrize("shape", [(12, 3, 8, 3), (12, 1, 8, 3), (12, 5, 8, 7)])
def test_an_ambiguous_layout_is_refused_until_it_is_named(tmp_path, shape):
    path = save(tmp_path / "a.npz", pixels(*shape))
    with pytest.raises(InputError, match="say layout=nchw or layout=nhwc"):
        load_data(path)
    assert load_data(path, layout="nchw").shape == shape[1:]
    assert load_data(path, layout="nhwc").shape == (shape[3], shape[1], shape[2])


def test_vectors_keep_their_values_and_get_measured_statistics(tmp_path):
    x = RNG.normal(5, 3, (40, 7))
    data = load_data(save(tmp_path / "a.npz", x))
    assert (data.kind, data.shape) == ("vector", (7,))
    np.testing.assert_array_equal(data.train.get(torch.arange(40)).numpy(), x.astype(np.float32))
    np.testing.assert_allclose(data.statistics()[0], x.mean(axis=0), rtol=1e-6)


def test_whole_numbers_of_any_type_are_taken_as_bytes(tmp_path):
    x = pixels(12, 8, 8)
    data = load_data(save(tmp_path / "a.npz", x.astype(np.int64)))
    assert data.train.x.dtype == torch.uint8


def with_value(value):
    x = RNG.random((12, 8, 8)).astype(np.float32)
    x[7, 2, 3] = value
    return x


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (with_value(np.nan), None, "NaN or infinite.*number 7"),
        (with_value(np.inf), None, "NaN or infinite"),
        (with_value(1.5), None, r"expected floats in \[0,1\]; store them as uint8"),
        (with_value(-0.5), None, "do not normalise"),
        (pixels(12, 8, 8).astype(np.int64) - 1, None, "whole numbers 0 to 255"),
        (np.full((12, 4), np.nan), None, "NaN or infinite"),
        (np.full((12, 4), 1e300), None, "NaN or infinite"),
        (pixels(12, 8, 8), np.arange(12) % 3 + 1, "run from 1 to 3.*expected 0 to 2"),
        (pixels(12, 8, 8), np.arange(12) % 3 - 1, "run from -1 to 1"),
        (pixels(12, 8, 8), np.arange(12) % 2 * 2, "expected 0 to 1, none left out"),
        (pixels(12, 8, 8), np.arange(12) * 10**12, "none left out"),
        (pixels(12, 8, 8), np.zeros(12, dtype=int), "all training labels are 0"),
        (pixels(12, 8, 8), np.arange(12) % 3 + 0.5, "not whole numbers"),
        (pixels(12, 8, 8), np.full(12, np.inf), "not whole numbers"),
        (pixels(12, 8, 8), np.array(["a", "b"] * 6), "labels have type"),
        (pixels(12, 8, 8), np.eye(12), r"labels have shape \(12, 12\)"),
        (pixels(12, 8, 8), np.arange(11), "12 samples but 11 labels"),
        (np.array(["a"] * 12), None, "got shape"),
        (np.array([["a"]] * 12), None, "expected numbers"),
        (pixels(0, 8, 8), np.zeros(0, dtype=int), "training split is empty"),
        (pixels(12, 2, 2, 2, 2), None, "expected vectors"),
        (pixels(12, 0, 8), None, "at least one value"),
    ],
)  # fmt: skip
def test_bad_arrays_are_refused_with_a_reason(tmp_path, x, y, message):
    with pytest.raises(InputError, match=message):
        load_data(save(tmp_path / "a.npz", x, y))


def test_splits_that_do_not_fit_each_other_are_refused(tmp_path):
    x = pixels(12, 8, 8)
    with pytest.raises(InputError, match="test samples"):
        load_data(save(tmp_path / "a.npz", x, x_test=pixels(6, 9, 9)))
    with pytest.raises(InputError, match="test labels run from 3 to 8"):
        load_data(save(tmp_path / "a.npz", x, y_test=np.arange(3, 9)))
    with pytest.raises(InputError, match="test split is empty"):
        load_data(save(tmp_path / "a.npz", x, x_test=x[:0], y_test=np.zeros(0, dtype=int)))
    with pytest.raises(InputError, match=r"lacks y_test; it holds x_train"):
        load_data(save(tmp_path / "a.npz", x, y_test=None))


def test_labels_as_a_column_or_as_whole_floats_are_accepted(tmp_path):
    y = (np.arange(12) % 3)[:, None].astype(np.float64)
    assert load_data(save(tmp_path / "a.npz", pixels(12, 8, 8), y)).train.y.tolist() == [0, 1, 2] * 4


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    path = save(tmp_path / "a.npz", pixels(12, 8, 8))
    content = path.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="cannot be read"):
            load_data(path)


def test_pickled_objects_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x_train=np.array([{}], dtype=object), y_train=[0], x_test=[0], y_test=[0])
    with pytest.raises(InputError, match="could run code"):
        load_data(path)


def test_a_bare_array_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(InputError, match="one bare array"):
        load_data(tmp_path / "a.npz")


def test_a_file_in_the_data_folder_is_found_by_its_name(tmp_path, monkeypatch):
    save(tmp_path / "own.npz", pixels(12, 8, 8, 3))
    monkeypatch.setenv("WASSERMIX_DATA", str(tmp_path))
    assert load_data("own.npz").name == "own"


@pytest.mark.realdata
@pytest.mark.skipif(not os.environ.get("WASSERMIX_DATA"), reason="$WASSERMIX_DATA is not set")
def test_real_colour_pictures_stored_nhwc_come_out_as_channels_first():
    if not (Path(os.environ["WASSERMIX_DATA"]) / "cifar10-20k.npz").is_file():
        pytest.skip("no cifar10-20k.npz in $WASSERMIX_DATA")
    data = load_data("cifar10-20k.npz")
    assert (data.shape, data.num_classes, len(data.train), len(data.test)) == (
        (3, 32, 32),
        10,
        20_000,
        10_000,
    )
    published = (0.4914, 0.4822, 0.4465)  # of all 50,000
    np.testing.assert_allclose(data.statistics()[0], published, atol=0.01)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_black_and_white_images_stored_as_0_and_1_are_black_and_white(tmp_path, dtype):
    x = RNG.integers(0, 2, (12, 8, 8)).astype(dtype)
    data = load_data(save(tmp_path / "a.npz", x))
    np.testing.assert_array_equal(data.train.get(torch.arange(12)).numpy()[:, 0], x.astype(np.float32))


def test_one_split_of_0_and_1_beside_one_of_bytes_is_refused(tmp_path):
    x = RNG.integers(0, 2, (12, 8, 8)).astype(np.uint8)
    with pytest.raises(InputError, match="x_train holds only 0 and 1"):
        load_data(save(tmp_path / "a.npz", x, x_test=pixels(6, 8, 8)))


def test_vectors_are_standardised_where_that_is_asked_for_and_images_are_not(tmp_path):
    x = RNG.normal(5, [3, 300], (40, 2))
    data = load_data(save(tmp_path / "a.npz", x), standardize=True)
    every = data.train.get(torch.arange(40))
    torch.testing.assert_close(every.std(0, correction=0), torch.ones(2))
    assert "data.standardize=true" in load_data(tmp_path / "a.npz").note
    with pytest.raises(InputError, match=r"holds images, which stay on \[0,1\]"):
        load_data(save(tmp_path / "b.npz", pixels(12, 8, 8)), standardize=True)
