"""A few labels for new samples: from arrays, or from the file that ``--ask`` wrote and a person filled in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wassermix.core.errors import InputError
from wassermix.core.fingerprint import DIGITS
from wassermix.data.checks import label_tensor
from wassermix.data.table import read_columns
from wassermix.drift.powered import require_enough
from wassermix.drift.views import Floats, Ints

__all__ = ["FewLabels", "read_labels"]


@dataclass(frozen=True, eq=False)
class FewLabels:
    """Labels of some new samples."""

    index: Ints
    """Rows of the new data ``(m,)``; one that was drawn twice stands twice."""
    labels: Ints
    weights: Floats | None = None
    """``1 / (N p_j)`` of a weighted draw; None for a uniform one."""

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the rows, their labels and weights."""
        digest = hashlib.sha256()
        for part in (self.index, self.labels, self.weights):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:DIGITS]

    def check(self, total: int, classes: int) -> None:
        """Refuse rows and classes that do not exist, weights of no draw, and too few labels."""
        if len(self.index) != len(self.labels) or not len(self.index):
            raise InputError(
                f"{len(self.index)} rows and {len(self.labels)} labels; expected as many of both"
            )
        if self.index.min() < 0 or self.index.max() >= total:
            raise InputError(
                f"labelled rows run from {self.index.min()} to {self.index.max()}; the new data have rows "
                f"0 to {total - 1}"
            )
        if self.labels.min() < 0 or self.labels.max() >= classes:
            raise InputError(
                f"labels run from {self.labels.min()} to {self.labels.max()}; expected 0 to {classes - 1}"
            )
        if self.weights is not None:
            _check_weights(self.weights, len(self.index))
        require_enough(len(self.index))


def _check_weights(weights: Floats, count: int) -> None:
    if weights.shape != (count,):
        raise InputError(f"weights have shape {weights.shape} for {count} labels; expected one for each")
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        raise InputError(
            f"weight {weights[wrong][0]} of label {int(np.flatnonzero(wrong)[0])}; expected positive numbers "
            "as --ask wrote them"
        )


def read_labels(path: Path) -> FewLabels:
    """Labels from a CSV file with the columns index, label and, for a weighted draw, weight.

    Rows whose label is empty are refused: leaving out the hard ones would bias the interval.
    """
    where = f"labels '{path}'"
    header, cells = read_columns(path, where)
    columns = {name.lower(): cells[:, place] for place, name in enumerate(header)}
    if not {"index", "label"} <= set(columns):
        raise InputError(
            f"{where}: the columns are {', '.join(header)}; expected index, label and perhaps weight"
        )
    if (columns["label"] == "").any():
        empty = int((columns["label"] == "").sum())
        raise InputError(f"{where}: {empty} labels are empty; fill in all of them, none may be left out")
    try:
        index, labels = columns["index"].astype(np.int64), columns["label"].astype(np.float64)
        weights = columns["weight"].astype(np.float64) if "weight" in columns else None
    except ValueError as error:
        raise InputError(f"{where}: {error}; expected whole numbers as index and label") from error
    return FewLabels(index, label_tensor(labels, where).numpy(), weights)
