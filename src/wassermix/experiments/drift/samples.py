"""The survey's data: real images and tables, and one synthetic table, as plain tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.data import Dataset, load_data
from wassermix.experiments.drift.cases import SIZES

__all__ = ["Parts", "load_parts", "other_digits"]

CIFAR_PART = "cifar10-20k.npz"
MOST = 20_000


@dataclass(frozen=True, eq=False)
class Parts:
    """The training set, the labelled reference and the pool from which new data are drawn."""

    train: tuple[Tensor, Tensor]
    reference: tuple[Tensor, Tensor]
    pool: tuple[Tensor, Tensor]
    num_classes: int


def load_parts(name: str, seed: int) -> Parts:
    """A data set cut at random by ``seed``."""
    x, y = _all(name)
    sizes = SIZES[name]
    order = torch.randperm(len(x), generator=stream(seed, "drift", "parts", name))
    cuts = [sizes.train, sizes.reference, len(x) - sizes.train - sizes.reference]
    train, reference, pool = ((x[rows], y[rows]) for rows in order.split(cuts))
    return Parts(train, reference, pool, int(y.max()) + 1)


def other_digits() -> tuple[Tensor, Tensor]:
    """Digits of another collection (scikit-learn's, 8x8, 43 writers) made to look like MNIST's 28x28."""
    x, y = _sklearn("digits")
    return F.pad(F.interpolate(x, (20, 20), mode="bilinear", align_corners=False), (4, 4, 4, 4)), y


def _all(name: str) -> tuple[Tensor, Tensor]:
    if name in ("digits", "cancer", "wine"):
        return _sklearn(name)
    if name == "gaussians":
        return _joined(load_data(name, classes=6, dim=12, separation=3.2, train_size=2000, test_size=2000))
    return _joined(load_data(_cifar() if name == "cifar10" else name))


def _cifar() -> str:
    """CIFAR-10, or the part of it that some machines hold."""
    try:
        load_data(CIFAR_PART)
    except InputError:
        return "cifar10"
    return CIFAR_PART


def _joined(data: Dataset) -> tuple[Tensor, Tensor]:
    """Train and test together, of the former at most 20,000: each seed cuts anew."""
    first, second = torch.arange(min(MOST, len(data.train))), torch.arange(min(MOST, len(data.test)))
    x = torch.cat([data.train.get(first), data.test.get(second)])
    return x, torch.cat([data.train.y[first], data.test.y[second]])


def _sklearn(name: str) -> tuple[Tensor, Tensor]:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise InputError("the drift survey needs scikit-learn: pip install scikit-learn") from error
    load = {"digits": datasets.load_digits, "cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}
    found = load[name]()
    x, y = torch.tensor(found.data).float(), torch.tensor(found.target).long()
    return ((x / 16).reshape(-1, 1, 8, 8), y) if name == "digits" else (x, y)
