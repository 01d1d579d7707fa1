"""Tables: a CSV or TSV file with a header, numeric columns and a label column."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.data.checks import check_labels, count_classes, label_tensor, vector_tensor
from wassermix.data.dataset import Dataset
from wassermix.data.protocol import Split
from wassermix.data.share import refuse_share, set_apart
from wassermix.data.splits import TensorSplit
from wassermix.data.standardize import noting, standardized, unlike_scales

__all__ = ["LABELS", "column_order", "load_table", "read_columns"]

LABELS = ("label", "y", "target", "class")
"""What a label column may be called."""


@dataclass(frozen=True)
class _Table:
    columns: tuple[str, ...]
    values: NDArray[Any]  # (n, d) float64
    labels: NDArray[Any]  # (n,) text


def load_table(
    path: Path,
    *,
    label: str | None = None,
    test: str | None = None,
    test_share: float | None = None,
    standardize: bool = True,
    seed: int = 0,
) -> Dataset:
    """A table: numeric columns are the vector, one column the label; ``test`` is a second file to test on.

    The label column is ``label``, or the one column called label, y, target or class. Whole-number labels
    must be 0..k-1; other labels are text, numbered in sorted order. Without ``test`` a stratified
    ``test_share`` (0.2) is set apart. ``standardize`` gives each column mean 0 and deviation 1 on the
    training split: noise, attacks and radii are then in standard deviations.
    """
    where = f"data '{path}'"
    table = _read(path, label, where)
    names = _class_names(table.labels)
    x, y = vector_tensor(table.values, where), _numbered(table.labels, names, where)
    check_labels(y, where, names=names)
    train: Split
    held: Split
    if test is None:
        train, held, note = set_apart(TensorSplit(x, y), test_share, seed)
    else:
        refuse_share(test_share, f"data.test '{test}'")
        train, held, note = (
            TensorSplit(x, y),
            _test_split(Path(test).expanduser(), label, table, names=names),
            "",
        )
    note = "; ".join(part for part in (note, _repeated(train, held)) if part)
    k = count_classes(train, held, where)
    shown = names or tuple(str(number) for number in range(k))
    data = Dataset(
        path.name.split(".")[0],
        train,
        held,
        k,
        "vector",
        note=note,
        class_names=shown,
        columns=table.columns,
    )
    return standardized(data) if standardize else noting(data, unlike_scales(train))


def _repeated(train: Split, held: Split) -> str:
    """A warning where rows to test on stand among the training rows too; empty where none does."""
    known = {row.tobytes() for row in train.get(torch.arange(len(train))).numpy()}
    again = sum(row.tobytes() in known for row in held.get(torch.arange(len(held))).numpy())
    if not again:
        return ""
    return (
        f"{again} of {len(held)} rows to test on are among the training rows too: accuracies say less; "
        "remove repeated rows"
    )


def _test_split(path: Path, label: str | None, train: _Table, *, names: tuple[str, ...]) -> TensorSplit:
    where = f"test data '{path}'"
    table = _read(path, label, where)
    if len(table.columns) != len(train.columns):
        raise InputError(_other_columns(where, table.columns, train.columns))
    order = column_order(table.columns, train.columns, where)
    return TensorSplit(vector_tensor(table.values[:, order], where), _numbered(table.labels, names, where))


def column_order(found: Sequence[str], wanted: Sequence[str], where: str, /) -> list[int]:
    """Where each of the ``wanted`` columns stands among those ``found``, by name."""
    if list(found) == list(wanted):
        return list(range(len(wanted)))
    if any(column not in found for column in wanted):
        raise InputError(_other_columns(where, found, wanted))
    twice = next((column for column in wanted if max(found.count(column), wanted.count(column)) > 1), None)
    if twice is not None:
        raise InputError(
            f"{where} has its columns in another order, and two are called '{twice}'; "
            "give each column a name of its own, or both files the same order"
        )
    return [found.index(name) for name in wanted]


def _other_columns(where: str, found: Sequence[str], wanted: Sequence[str]) -> str:
    return f"{where} has the columns {', '.join(found)}; the training file has {', '.join(wanted)}"


def read_columns(path: Path, where: str) -> tuple[list[str], NDArray[Any]]:
    """The header and all cells ``(n, columns)`` of a table as text, whatever they mean."""
    text = _text(path, where)
    header, delimiter = _header(path, text, where)
    cells = _columns(text, delimiter, range(len(header)), kind=np.str_, where=where)
    return header, np.char.strip(cells)


def _header(path: Path, text: str, where: str) -> tuple[list[str], str]:
    """The names of the columns and what stands between them."""
    first = text[: text.find("\n")] if "\n" in text else text
    delimiter = "\t" if ".tsv" in path.name else max(",;\t", key=first.count)
    header = [column.strip() for column in _rows([first], delimiter, where)[0]] if first else []
    return header, delimiter


def _read(path: Path, label: str | None, where: str) -> _Table:
    text = _text(path, where)
    header, delimiter = _header(path, text, where)
    position = _label_position(header, label, where)
    others = [number for number in range(len(header)) if number != position]
    if not others:
        raise InputError(f"{where} has no column beside the label")
    _require_width(text, delimiter, len(header), where=where)
    values = _columns(text, delimiter, others, kind=np.float64, where=where)
    labels = _columns(text, delimiter, [position], kind=np.str_, where=where)[:, 0]
    return _Table(tuple(header[number] for number in others), values, np.char.strip(labels))


def _rows(lines: list[str], delimiter: str, where: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error as error:
        raise InputError(
            f"{where} is no table: {error}; expected a header and short cells below it"
        ) from error


def _require_width(text: str, delimiter: str, width: int, *, where: str) -> None:
    """Refuse rows longer than the header, whose last cells would be dropped or taken for others."""
    for number, row in enumerate(_rows(text.split("\n"), delimiter, where)):
        if len(row) > width:
            raise InputError(
                f"{where}: line {number + 1} has {len(row)} cells, the header {width}; fix the row, "
                "or quote cells that hold the delimiter"
            )


def _label_position(header: list[str], label: str | None, where: str) -> int:
    wanted = (label,) if label is not None else LABELS
    found = [
        n
        for n, column in enumerate(header)
        if column == label or (label is None and column.lower() in LABELS)
    ]
    if len(found) != 1:
        raise InputError(
            f"{where}: the header is {', '.join(header) or 'empty'}; "
            f"expected one label column called {' or '.join(wanted)}; name it with data.label"
        )
    return found[0]


def _text(path: Path, where: str) -> str:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise InputError(f"{where} is damaged, cut off or not UTF-8 text ({error})") from error
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}") from error


def _columns(text: str, delimiter: str, columns: Sequence[int], *, kind: Any, where: str) -> NDArray[Any]:
    """The columns ``(n, len(columns))`` below the header, by numpy's compiled reader."""
    body = text[text.find("\n") + 1 :] if "\n" in text else ""
    if not body.strip():
        raise InputError(f"{where} has no rows below its header")
    try:
        return np.loadtxt(
            io.StringIO(body),
            dtype=kind,
            delimiter=delimiter,
            usecols=columns,
            ndmin=2,
            quotechar='"',
            comments=None,
        )
    except (ValueError, IndexError) as error:
        raise InputError(
            f"{where}: {_with_line(str(error), body)}; "
            "expected a number in every column but the label, none empty"
        ) from error


def _with_line(told: str, body: str) -> str:
    """NumPy's error with the file's line, from 1, where it counts rows below the header from 0."""
    lines = [number for number, line in enumerate(body.split("\n"), start=2) if line.strip()]
    return re.sub(r"at row (\d+)", lambda found: f"on line {lines[int(found[1])]}", told).rstrip(".")


def _class_names(labels: NDArray[Any]) -> tuple[str, ...]:
    """Sorted names of text labels; none where labels are numbers."""
    names = tuple(sorted(set(labels.tolist())))
    return () if all(_is_number(name) for name in names) else names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(labels: NDArray[Any], names: tuple[str, ...], where: str) -> Tensor:
    if not names and all(_is_number(text) for text in set(labels.tolist())):
        return label_tensor(labels.astype(np.float64), where)
    number = {name: index for index, name in enumerate(names)}
    strangers = sorted(set(labels.tolist()) - set(names))
    if strangers or "" in number:
        shown = "empty labels" if "" in number or strangers == [""] else f"the label '{strangers[0]}'"
        raise InputError(f"{where} has {shown}; expected one of the training labels in every row")
    return torch.tensor([number[text] for text in labels.tolist()])
