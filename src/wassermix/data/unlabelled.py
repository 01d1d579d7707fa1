"""New samples for a model that is already trained: any of the known formats, labels not needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.data.checks import image_tensor, is_binary, label_tensor, vector_tensor
from wassermix.data.dataset import Statistics
from wassermix.data.folder import FolderSplit, images_in
from wassermix.data.load import TABLES, load_data
from wassermix.data.npz import to_nchw
from wassermix.data.registry import DATA
from wassermix.data.splits import Split, TensorSplit
from wassermix.data.standardize import StandardSplit
from wassermix.data.table import LABELS, column_order, read_columns

__all__ = ["NewSamples", "load_unlabelled"]

INPUTS = ("x", "x_new", "x_test", "X", "data", "arr_0")
TARGETS = ("y", "y_new", "y_test", "labels")


@dataclass(frozen=True, eq=False)
class NewSamples:
    """Samples to look at; ``labels`` where the file happens to hold some."""

    name: str
    samples: Split
    """Its ``y`` is all zeros where there are no labels."""
    labels: Tensor | None
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.samples)


def load_unlabelled(
    source: str | Path,
    *,
    shape: tuple[int, ...],
    scale: Statistics | None = None,
    columns: Sequence[str] = (),
) -> NewSamples:
    """New samples of ``shape`` from an npz, npy or CSV file, a folder of images, or a known name's test set.

    An npz file holds its samples as ``x`` (or ``x_test``), labels, if any, as ``y``; a CSV file has a column
    for each input, and perhaps one called label; a folder holds images, in class folders or not. ``columns``
    are the names in the training file: those of a CSV file are then taken by name, others are passed over;
    without them, they come in the order of the training file. ``scale`` is that of the training data where
    they were standardised: files hold columns in their own units and are put on that scale here.
    """
    name, path = str(source), Path(source).expanduser()
    if name in DATA.names():
        data = load_data(name)
        return _fitting(NewSamples(name, data.test, data.test.y), shape)
    if not path.exists():
        known = ", ".join(DATA.names())
        raise InputError(f"new data '{name}' do not exist; expected a file, a folder or one of {known}")
    new = _fitting(_from_path(path, shape, columns), shape)
    return new if scale is None else replace(new, samples=StandardSplit(new.samples, scale))


def _from_path(path: Path, shape: tuple[int, ...], columns: Sequence[str]) -> NewSamples:
    if path.is_dir():
        return _folder(path, shape)
    if path.name.endswith(TABLES):
        return _table(path, columns)
    if path.suffix in (".npz", ".npy"):
        return _arrays(path, shape)
    raise InputError(
        f"new data '{path}' are of no known kind; expected .npz, .npy, .csv or a folder of images"
    )


def _fitting(new: NewSamples, shape: tuple[int, ...]) -> NewSamples:
    got = tuple(new.samples.shape)
    if len(new) == 0:
        raise InputError(f"new data '{new.name}' hold no samples; expected at least 2")
    if got != shape:
        raise InputError(
            f"new data '{new.name}' have samples of shape {got}; the model was trained on {shape}; "
            f"{_advice(got, shape)}"
        )
    return new


def _advice(got: tuple[int, ...], shape: tuple[int, ...]) -> str:
    if len(got) == len(shape) == 3 and got[1:] == shape[1:]:
        return "convert colour to grey or back"
    if sorted(got) == sorted(shape):
        return "store images as (n, channels, height, width) or (n, height, width, channels)"
    return "prepare the new data as the training data were"


def _arrays(path: Path, shape: tuple[int, ...]) -> NewSamples:
    where = f"new data '{path}'"
    x, y = _read(path, where)
    labels = None if y is None else label_tensor(y, where)
    if labels is not None and len(labels) != len(x):
        raise InputError(
            f"{where}: {len(x)} samples but {len(labels)} labels; expected one per sample, or none"
        )
    if x.ndim == 2 and len(shape) == 1:
        return _in_memory(str(path), vector_tensor(x, where), labels)
    if len(shape) == 3 and x.ndim == 4:
        layout = "nchw" if x.shape[1:] == shape else "auto"
        x = to_nchw(x, where, layout="nchw" if layout == "nchw" else "auto")
    elif len(shape) == 3 and x.ndim == 3:
        x = x[:, None]
    else:
        raise InputError(f"{where}: got an array {x.shape}; the model takes samples of shape {shape}")
    if is_binary(x) and x.any():  # as training data of 0 and 1 are read
        x = x.astype(np.uint8) * np.uint8(255)
    return _in_memory(str(path), image_tensor(x, where), labels)


def _in_memory(name: str, x: Tensor, labels: Tensor | None) -> NewSamples:
    y = torch.zeros(len(x), dtype=torch.int64) if labels is None else labels
    return NewSamples(name, TensorSplit(x, y), labels)


def _read(path: Path, where: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return np.atleast_1d(found), None
            inputs = next((key for key in INPUTS if key in found), None)
            targets = next((key for key in TARGETS if key in found), None)
            if inputs is None:
                raise InputError(f"{where} hold {', '.join(found) or 'nothing'}; expected the samples as 'x'")
            return np.atleast_1d(found[inputs]), None if targets is None else found[targets]
    except InputError:
        raise
    except Exception as error:  # numpy raises many sorts for a file that is damaged or pickled
        raise InputError(f"{where} cannot be read: damaged, cut off or pickled ({error})") from error


def _table(path: Path, wanted: Sequence[str]) -> NewSamples:
    where = f"new data '{path}'"
    columns, values = read_columns(path, where)
    marked = [n for n, column in enumerate(columns) if column.lower() in LABELS and column not in wanted]
    inputs = [n for n in range(len(columns)) if n not in marked[:1]]
    if wanted:
        order = column_order([columns[n] for n in inputs], wanted, where)
        inputs = [inputs[n] for n in order]
    try:
        x = values[:, inputs].astype(np.float64)
    except ValueError as error:
        raise InputError(f"{where}: {error}; expected a number in every column but the label") from error
    labels = _numbers(values[:, marked[0]], where) if marked else None
    made = _in_memory(str(path), vector_tensor(x, where), labels)
    return NewSamples(made.name, made.samples, labels, tuple(columns[n] for n in inputs))


def _numbers(column: NDArray[Any], where: str) -> Tensor | None:
    """Labels where they are class numbers; a column of names or gaps is passed over."""
    try:
        return label_tensor(column.astype(np.float64), where)
    except (ValueError, InputError):
        return None


def _folder(path: Path, shape: tuple[int, ...]) -> NewSamples:
    paths = images_in(path)
    if not paths:
        raise InputError(f"new data '{path}' hold no images; expected files such as name.png")
    channels = shape[0] if len(shape) == 3 else None
    size = shape[1] if len(shape) == 3 and shape[1] == shape[2] else None
    split = FolderSplit(paths, torch.zeros(len(paths), dtype=torch.int64), size, channels)
    return NewSamples(str(path), split, None)
