"""What every data set must satisfy before it is used, whatever file it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.data.protocol import Split

__all__ = ["check_labels", "count_classes", "image_tensor", "is_binary", "label_tensor", "vector_tensor"]

Array = NDArray[Any]


def label_tensor(y: Array, where: str) -> Tensor:
    """Integer labels ``(n,)`` or ``(n, 1)`` as int64; whole-number floats are accepted."""
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1:
        raise InputError(
            f"{where}: labels have shape {y.shape}; expected one class number per sample, shape (n,)"
        )
    if y.dtype.kind not in "iufb":
        raise InputError(f"{where}: labels have type {y.dtype}; expected whole numbers 0 to k-1")
    if y.dtype.kind == "f" and not (np.isfinite(y).all() and np.array_equal(y, np.round(y))):
        raise InputError(f"{where}: labels are not whole numbers; expected classes 0 to k-1")
    return torch.from_numpy(y.astype(np.int64))


def vector_tensor(x: Array, where: str) -> Tensor:
    """Numeric rows ``(n, d)`` as float32, all finite."""
    if x.dtype.kind not in "iufb":
        raise InputError(f"{where}: values have type {x.dtype}; expected numbers")
    if x.ndim != 2 or x.shape[1] == 0:
        raise InputError(f"{where}: got shape {x.shape}; expected rows of numbers, shape (n, d)")
    values = _float32(x)
    _require_finite(values, where)
    return values


def image_tensor(x: Array, where: str) -> Tensor:
    """Images ``(n, C, H, W)``: whole numbers 0..255 as uint8, fractions in [0,1] as float32.

    Truth values are black and white; what holds only 0 and 1 as whole numbers is for the caller to settle.
    """
    assert x.ndim == 4
    if x.dtype.kind == "b":
        return torch.from_numpy(x * np.uint8(255))
    if x.dtype == np.uint8:
        return torch.from_numpy(np.ascontiguousarray(x))
    if x.dtype.kind in "iu":
        return _bytes(x, where)
    if x.dtype.kind != "f":
        raise InputError(f"{where}: pixels have type {x.dtype}; expected uint8, or floats in [0,1]")
    values = _float32(x)
    _require_finite(values, where)
    low, high = (float(v) for v in values.aminmax()) if values.numel() else (0.0, 0.0)
    if low < 0 or high > 1:
        hint = "store them as uint8" if low >= 0 and high <= 255 else "do not normalise them: the model does"
        raise InputError(f"{where}: pixels run from {low:g} to {high:g}; expected floats in [0,1]; {hint}")
    return values


def is_binary(x: Array) -> bool:
    """Whether images hold nothing but 0 and 1, as whole numbers or as truth values: black and white."""
    return x.dtype.kind in "iub" and (x.size == 0 or bool(x.min() >= 0 and x.max() <= 1))


def _bytes(x: Array, where: str) -> Tensor:
    if x.size and (x.min() < 0 or x.max() > 255):
        raise InputError(f"{where}: pixels run from {x.min()} to {x.max()}; expected whole numbers 0 to 255")
    return torch.from_numpy(np.ascontiguousarray(x, dtype=np.uint8))


def _float32(x: Array) -> Tensor:
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused by name
        return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))


def _require_finite(values: Tensor, where: str) -> None:
    bad = ~values.flatten(1).isfinite().all(dim=1) if values.numel() else torch.zeros(0, dtype=torch.bool)
    if bad.any():
        first = int(bad.nonzero()[0])
        raise InputError(
            f"{where}: {int(bad.sum())} of {len(bad)} samples hold NaN or infinite values, "
            f"the first is number {first}; remove or fill them"
        )


def check_labels(y: Tensor, where: str, *, names: Sequence[str] = ()) -> int:
    """The number of classes of training labels, which must be 0..k-1, all used; needs no room for ``k``.

    ``names`` are the classes' own, for messages.
    """
    used = y.unique()
    low, high = int(used[0]), int(used[-1])
    if len(used) == 1:
        only = f"'{names[low]}'" if names else str(low)
        raise InputError(f"{where}: all training labels are {only}; expected at least two classes")
    if low < 0 or high != len(used) - 1:
        raise InputError(
            f"{where}: labels run from {low} to {high} and take {len(used)} values; "
            f"expected 0 to {len(used) - 1}, none left out; renumber the classes"
        )
    return high + 1


def count_classes(train: Split, test: Split, where: str) -> int:
    """The number of classes ``k``, after checking that the splits agree and labels are 0..k-1, all used."""
    for name, split in (("training", train), ("test", test)):
        if len(split) == 0:
            raise InputError(f"{where}: the {name} split is empty; expected at least one sample")
    if 0 in train.shape:
        raise InputError(f"{where}: samples have shape {train.shape}; expected at least one value each")
    if train.shape != test.shape:
        raise InputError(f"{where}: training samples have shape {train.shape}, test samples {test.shape}")
    high = check_labels(train.y, where) - 1
    test_low, test_high = (int(v) for v in test.y.aminmax())
    if test_low < 0 or test_high > high:
        raise InputError(
            f"{where}: test labels run from {test_low} to {test_high}; training has classes 0 to {high} only"
        )
    return high + 1
