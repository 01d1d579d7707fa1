"""What a run remembers of its samples, so that a file that changed after the training is noticed.

A run keeps the name of its data, not the samples. Rows that are added to a file move the split between
training and test samples, the scale of the columns and the numbers of the classes: certificates of the
changed file would speak of samples that the network was trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.core.samples import evenly_spaced
from wassermix.data import Dataset, Split

__all__ = ["data_changes", "data_mark", "require_same_data"]

LOOKED_AT = 32
"""So many samples of each split are remembered by a number each."""
NEAR: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-4}
"""Another processor may scale columns by sums that are rounded otherwise."""


def data_mark(data: Dataset) -> dict[str, Any]:
    """Counts, labels and a number for some samples of each split."""
    splits = {"train": data.train, "test": data.test, "holdout": data.holdout}
    marks = {name: _split_mark(split) for name, split in splits.items() if split is not None}
    return {"classes": data.num_classes, **marks}


def require_same_data(file: Path, data: Dataset, *, run: Path) -> None:
    """Refuse data other than those that the mark in ``file`` was made of; a run without one is believed."""
    if not file.exists():
        return
    if changes := data_changes(read_json(file), data_mark(data)):
        raise InputError(
            f"the data of run '{run}' have changed since it was trained ({'; '.join(changes)}): restore "
            f"'{data.name}' as it was, or train again; new samples are judged by `wassermix drift`"
        )


def data_changes(known: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """In what the second of two marks differs from the first, in words."""
    return list(_changes(known, found))


def _split_mark(split: Split) -> dict[str, Any]:
    rows = torch.tensor(evenly_spaced(len(split), LOOKED_AT))
    x = split.get(rows).flatten(1).double()
    ramp = torch.linspace(1, 2, x.shape[1], dtype=torch.float64)  # so that exchanged columns are noticed
    return {
        "samples": len(split),
        "labels": hashlib.sha256(split.y.cpu().numpy().tobytes()).hexdigest()[:16],
        "means": [float(f"{value:.6g}") for value in (x * ramp).mean(dim=1).tolist()],
    }


def _changes(known: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    if known["classes"] != found["classes"]:
        yield f"{known['classes']} classes then, {found['classes']} now"
    for name in ("train", "test", "holdout"):
        before, now = known.get(name), found.get(name)
        if before is None or now is None:
            if before is not now:
                yield f"a {name} split {'now' if before is None else 'then'} only"
        elif before["samples"] != now["samples"]:
            yield f"{before['samples']} {name} samples then, {now['samples']} now"
        elif before["labels"] != now["labels"]:
            yield f"other labels of the {name} samples"
        elif not np.allclose(now["means"], before["means"], **NEAR):
            yield f"other {name} samples or units"
