"""The user's own arrays: an npz file with x_train, y_train, x_test, y_test."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.data.checks import count_classes, image_tensor, is_binary, label_tensor, vector_tensor
from wassermix.data.dataset import Dataset
from wassermix.data.splits import TensorSplit
from wassermix.data.standardize import noting, standardized, unlike_scales

__all__ = ["Layout", "load_npz", "to_nchw"]

Layout = Literal["auto", "nchw", "nhwc"]
KEYS = ("x_train", "y_train", "x_test", "y_test")
CHANNELS = (1, 3)


def load_npz(path: Path, *, layout: Layout = "auto", standardize: bool = False) -> Dataset:
    """Arrays of an npz file: images (NHW, NHWC or NCHW; uint8, or floats in [0,1]) or vectors (n, d).

    Images whose whole numbers are all 0 or 1 are black and white. ``standardize`` puts vectors into standard
    deviations of the training columns, as tables are by default.
    """
    where = f"data '{path}'"
    arrays = _arrays(path, where)
    _spread_binary(arrays, where)
    train = _split(arrays["x_train"], arrays["y_train"], f"{where}, train", layout=layout)
    test = _split(arrays["x_test"], arrays["y_test"], f"{where}, test", layout=layout)
    k = count_classes(train, test, where)
    names = tuple(str(number) for number in range(k))
    kind: Literal["image", "vector"] = "image" if len(train.shape) == 3 else "vector"
    data = Dataset(path.stem, train, test, k, kind, class_names=names)
    if standardize:
        return standardized(data)
    return noting(data, unlike_scales(train)) if kind == "vector" else data


def _spread_binary(arrays: dict[str, NDArray[Any]], where: str) -> None:
    """Images of 0 and 1 to 0 and 255: read as shades of 255 they would all be black."""
    keys = [key for key in ("x_train", "x_test") if arrays[key].ndim > 2]
    binary = [key for key in keys if is_binary(arrays[key])]
    if 0 < len(binary) < len(keys) and any(arrays[key].any() for key in binary):
        raise InputError(
            f"{where}: {binary[0]} holds only 0 and 1, the other images run further; "
            "expected one scale for both: uint8 0 to 255, or floats in [0,1]"
        )
    for key in binary:
        arrays[key] = arrays[key].astype(np.uint8) * np.uint8(255)


def _arrays(path: Path, where: str) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file:  # opened here: numpy leaves a damaged file open
            return _named(np.load(file, allow_pickle=False), where)
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as error:
        if "allow_pickle" in str(error):
            reason = "it holds pickled objects, which could run code; store plain number arrays"
        else:
            reason = f"it is damaged, cut off or no npz file ({error})"
        raise InputError(f"{where} cannot be read: {reason}") from error


def _named(content: Any, where: str) -> dict[str, NDArray[Any]]:
    if isinstance(content, np.ndarray):
        raise InputError(f"{where} holds one bare array; expected an npz file with {', '.join(KEYS)}")
    with content:
        missing = [key for key in KEYS if key not in content]
        if missing:
            raise InputError(
                f"{where} lacks {', '.join(missing)}; it holds {', '.join(content) or 'nothing'}; "
                f"expected the arrays {', '.join(KEYS)}"
            )
        return {key: content[key] for key in KEYS}


def _split(x: NDArray[Any], y: NDArray[Any], where: str, *, layout: Layout) -> TensorSplit:
    if len(np.atleast_1d(x)) != len(np.atleast_1d(y)):
        raise InputError(f"{where}: {len(np.atleast_1d(x))} samples but {len(np.atleast_1d(y))} labels")
    labels = label_tensor(y, where)
    if x.ndim == 2:
        return TensorSplit(vector_tensor(x, where), labels)
    return TensorSplit(image_tensor(to_nchw(x, where, layout=layout), where), labels)


def to_nchw(x: NDArray[Any], where: str, *, layout: Layout = "auto") -> NDArray[Any]:
    """Images NHW, NHWC or NCHW as NCHW; with 1 or 3 in both channel places ``layout`` must say which."""
    if x.ndim == 3:
        return x[:, None]
    if x.ndim != 4:
        raise InputError(
            f"{where}: got shape {x.shape}; "
            "expected vectors (n, d) or images (n, h, w), (n, h, w, c), (n, c, h, w)"
        )
    first, last = x.shape[1] in CHANNELS, x.shape[3] in CHANNELS
    if layout == "auto" and first == last:
        raise InputError(
            f"{where}: shape {x.shape} can{' ' if first else 'not '}be read as images with 1 or 3 channels"
            f"{' in two ways' if first else ''}; say layout=nchw or layout=nhwc"
        )
    return x if layout == "nchw" or (layout == "auto" and first) else x.transpose(0, 3, 1, 2)
