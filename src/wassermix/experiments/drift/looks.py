"""Views of every case by every net, made once and kept: what all estimators of the survey work from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.core.files import write_beside
from wassermix.core.samples import TensorSamples
from wassermix.drift.views import Ints, Looker, Spaces, View
from wassermix.experiments.drift.cases import SIZES, Case, cases_of, make_case, net_of
from wassermix.experiments.drift.nets import trained_net
from wassermix.experiments.drift.samples import load_parts, other_digits

__all__ = ["Looks", "make_looks", "read_looks"]


@dataclass(frozen=True, eq=False)
class Looks:
    """One net's views: the labelled reference, and each case with its labels (for judging only)."""

    data: str
    net: str
    seed: int
    reference: View
    labels: Ints
    cases: dict[Case, tuple[View, Ints]]
    held: Spaces
    """Reference samples for the tests."""
    spaces: dict[Case, Spaces]
    """What the tests see of the cases without drift."""


def make_looks(name: str, seed: int, folder: Path) -> None:
    """Train the net of one data set and seed and store its views, unless that is done."""
    path = _path(folder, name, seed)
    if path.exists():
        return
    parts = load_parts(name, seed)
    looker = Looker(trained_net(name, parts, seed=seed, folder=folder))
    arrays = _stored("reference", looker.fit(TensorSamples(*parts.reference)))
    assert looker.held is not None
    arrays |= _stored_spaces("reference", looker.held)
    arrays["reference/labels"] = parts.reference[1].numpy()
    for case in cases_of(name, tuple(parts.train[0].shape[1:])):
        natural = case.kind == "other-digits"
        pool = other_digits() if natural else parts.pool
        drawn = Case("none", 1) if natural else case
        x, y = make_case(drawn, *pool, count=SIZES[name].new, seed=seed)
        key = _key(case)
        view, spaces = looker.look_twice(TensorSamples(x, y))
        arrays |= _stored(key, view) | {f"{key}/labels": y.numpy()}
        arrays |= _stored_spaces(key, spaces) if case.kind == "none" else {}
    write_beside(path, _writer(arrays))


def read_looks(name: str, seed: int, folder: Path) -> Looks:
    """What :func:`make_looks` stored."""
    with np.load(_path(folder, name, seed), allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored}
    keys = {key.split("/")[0] for key in arrays} - {"reference"}
    cases = {_case(key): (_view(key, arrays), arrays[f"{key}/labels"]) for key in sorted(keys)}
    labels = arrays["reference/labels"]
    spaces = {case: _spaces(_key(case), arrays) for case in cases if case.kind == "none"}
    reference, held = _view("reference", arrays), _spaces("reference", arrays)
    return Looks(name, net_of(name, seed), seed, reference, labels, cases, held, spaces)


def _path(folder: Path, name: str, seed: int) -> Path:
    return folder / f"{name}-{seed}-{net_of(name, seed)}.npz"


def _writer(arrays: dict[str, Any]) -> Any:
    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez_compressed(file, **arrays)

    return write


def _stored(key: str, view: View) -> dict[str, Any]:
    parts = {"inputs": view.inputs, "features": view.features, "logits": view.logits}
    return {f"{key}/{part}": values.astype(np.float32) for part, values in parts.items()}


def _view(key: str, arrays: dict[str, Any]) -> View:
    inputs, features, logits = (
        arrays[f"{key}/{part}"].astype(np.float64) for part in ("inputs", "features", "logits")
    )
    return View(inputs, features, logits)


def _stored_spaces(key: str, spaces: Spaces) -> dict[str, Any]:
    return {f"{key}/test_inputs": spaces.inputs, f"{key}/test_features": spaces.features}


def _spaces(key: str, arrays: dict[str, Any]) -> Spaces:
    return Spaces(arrays[f"{key}/test_inputs"], arrays[f"{key}/test_features"])


def _key(case: Case) -> str:
    return f"{case.kind}@{case.strength}"


def _case(key: str) -> Case:
    kind, _, strength = key.partition("@")
    return Case(kind, int(strength))
