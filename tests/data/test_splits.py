"""Splits and batches: the right samples in the right order, small in memory, no global random state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from wassermix.core.errors import InputError
from wassermix.data import FolderSplit, Split, SubsetSplit, TensorSplit, batches


def digits(n: int = 10) -> TensorSplit:
    x = torch.arange(n * 12, dtype=torch.uint8).reshape(n, 1, 3, 4)
    return TensorSplit(x, torch.arange(n) % 3)


@pytest.fixture
def pictures(tmp_path):
    paths = []
    for number in range(7):
        path = tmp_path / f"{number}.png"
        Image.fromarray(np.full((4, 5), number * 30, dtype=np.uint8)).save(path)
        paths.append(path)
    return FolderSplit(paths, torch.arange(7) % 2)


def test_bytes_stay_bytes_until_asked_for_and_become_exact_fractions():
    split = digits()
    assert split.x.dtype == torch.uint8
    x = split.get(torch.tensor([4, 0]))
    assert x.dtype == torch.float32
    expected = split.x.numpy()[[4, 0]].astype(np.float64) / 255
    np.testing.assert_array_equal(x.numpy(), expected.astype(np.float32))


def test_every_byte_lands_in_the_unit_interval_with_its_ends_exact():
    split = TensorSplit(torch.arange(256, dtype=torch.uint8).reshape(256, 1, 1, 1), torch.zeros(256).long())
    x = split.get(torch.arange(256)).flatten()
    assert x[0] == 0
    assert x[255] == 1
    assert (x * 255).round().int().tolist() == list(range(256))


def test_floats_come_out_as_they_went_in_and_are_not_shared():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    split = TensorSplit(x.clone(), torch.zeros(5).long())
    got = split.get(torch.arange(5))
    assert torch.equal(got, x)
    got.zero_()
    assert torch.equal(split.x, x)


def test_a_subset_of_a_subset_finds_the_original_samples():
    split = digits(10)
    inner = SubsetSplit(SubsetSplit(split, torch.tensor([9, 7, 5, 3])), torch.tensor([2, 0]))
    assert torch.equal(inner.get(torch.tensor([0, 1])), split.get(torch.tensor([5, 9])))
    assert inner.y.tolist() == split.y[[5, 9]].tolist()
    assert len(inner) == 2


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_batches_keep_the_order_and_the_last_small_batch(size):
    split, order = digits(10), torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])
    parts = list(batches(split, order, batch_size=size))
    assert torch.equal(torch.cat([part[0] for part in parts]), order)
    assert torch.equal(torch.cat([part[1] for part in parts]), split.get(order))
    assert torch.equal(torch.cat([part[2] for part in parts]), split.y[order])
    assert [len(part[0]) for part in parts] == [size] * (8 // size) + ([8 % size] if 8 % size else [])


def test_no_samples_give_no_batches_and_a_size_of_zero_is_refused():
    assert list(batches(digits(), torch.arange(0), batch_size=4)) == []
    with pytest.raises(InputError, match="batch_size is 0"):
        list(batches(digits(), torch.arange(3), batch_size=0))


def test_worker_processes_deliver_what_one_process_does(pictures):
    order = torch.tensor([6, 0, 3, 3, 1])
    alone = list(batches(pictures, order, batch_size=2))
    state = torch.random.get_rng_state()
    helped = list(batches(SubsetSplit(pictures, torch.arange(7)), order, batch_size=2, workers=2))
    assert torch.equal(torch.random.get_rng_state(), state)
    for one, two in zip(alone, helped, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, two))


def test_a_damaged_picture_is_named_in_a_sentence_from_a_worker_too(pictures):
    damaged = Path(pictures.paths[2])
    damaged.write_bytes(damaged.read_bytes()[:40])
    for workers in (0, 1):
        with pytest.raises(InputError, match=r"2\.png' cannot be read") as caught:
            list(batches(pictures, torch.arange(7), batch_size=4, workers=workers))
        assert "Traceback" not in str(caught.value)


def test_all_splits_fit_the_protocol(pictures):
    for split in (digits(), pictures, SubsetSplit(digits(), torch.arange(2))):
        assert isinstance(split, Split)
