"""What a report knows about a run: plain records of its configuration, training and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.certify.rule import protocol_of
from wassermix.core.intervals import Share, share_of

__all__ = ["Attacked", "Audited", "CertifiedSet", "Check", "PairCurve", "Rows", "RunRecord"]

Floats = NDArray[np.float64]
ATTACK_KEYS = (
    "attack",
    "norm",
    "eps",
    "steps",
    "step_size",
    "restarts",
    "random_start",
    "loss",
    "box_first",
    "sigma",
    "noises",
    "votes",
    "queries",
    "t_max",
    "times",
    "targets",
    "pair_size",
    "entropy",
)
"""What an attack's number depends on, beside the model, the images and the seed."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A certification log: one entry an image, in the log's order."""

    index: NDArray[np.int64]
    label: NDArray[np.int64]
    radius: Floats
    correct: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.index)

    def certified(self, radius: float) -> NDArray[np.bool_]:
        """Which images are classified rightly with a certified radius of at least ``radius``."""
        return self.correct & (self.radius >= radius)

    def share(self, radius: float) -> Share:
        """Certified accuracy at ``radius``."""
        return share_of(int(self.certified(radius).sum()), len(self))


@dataclass(frozen=True, eq=False)
class CertifiedSet:
    """One certification of a run: its parameters, its table and, where stored, its rows.

    ``sureness`` is the share of images whose label has probability at least p under noise, by p.
    """

    name: str
    parameters: Mapping[str, Any]
    table: Mapping[float, Share]
    acr: float | None
    rows: Rows | None
    sureness: Mapping[float, Share] = field(default_factory=dict)

    @property
    def protocol(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two tables may stand side by side."""
        return protocol_of(self.parameters)

    @property
    def mode(self) -> object:
        """The certifier's mode; None for a log that does not tell."""
        return self.parameters.get("mode")

    @property
    def images(self) -> int:
        """How many images were certified."""
        return next(iter(self.table.values())).images if self.table else 0


@dataclass(frozen=True)
class Check:
    """A sanity check of an attack: what it looked at, whether it passed, and what it says."""

    name: str
    passed: bool
    message: str


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attack on a run: parameters, clean and robust accuracy, and flags an image."""

    name: str
    parameters: Mapping[str, Any]
    clean: Share
    robust: Share
    checks: tuple[Check, ...]
    index: NDArray[np.int64] | None
    label: NDArray[np.int64] | None
    clean_correct: NDArray[np.bool_] | None
    robust_correct: NDArray[np.bool_] | None

    @property
    def protocol(self) -> tuple[tuple[str, Any], ...]:
        """The attack's own parameters: two runs compare only where all of them agree."""
        return tuple((key, self.parameters.get(key)) for key in ATTACK_KEYS)

    @property
    def smoothed(self) -> bool:
        """Whether the attacked classifier was the smoothed one, which votes under noise."""
        return "votes" in self.parameters


@dataclass(frozen=True, eq=False)
class PairCurve:
    """The performance geodesic of one ordered pair of classes; every array runs along ``t``."""

    source: str
    target: str
    t: Floats
    loss: Floats
    kl: Floats
    accuracy: Floats
    as_source: Floats
    as_target: Floats
    as_other: Floats
    total_variation: float
    worst_t: float | None
    flip_t: float | None

    @property
    def label(self) -> str:
        """The pair in words."""
        return f"{self.source} → {self.target}"


@dataclass(frozen=True, eq=False)
class Audited:
    """One audit of a run: the curves of all pairs and, where stored, pictures along each geodesic."""

    name: str
    parameters: Mapping[str, Any]
    pairs: tuple[PairCurve, ...]
    pictures: Mapping[int, NDArray[np.uint8]]
    """Position among ``pairs`` -> pictures ``(samples, times, C, H, W)``; not every pair has them."""
    times: Floats
    """The times of the pictures."""


@dataclass(frozen=True, eq=False)
class Triangle:
    """A model between three classes at once."""

    name: str
    parameters: Mapping[str, Any]
    classes: tuple[str, ...]
    weights: NDArray[np.float64]
    """``(n, 3)``: how much of each class."""
    kl: Floats


@dataclass(frozen=True, eq=False)
class RunRecord:
    """Everything that a report shows of one run."""

    name: str
    path: Path
    config: Mapping[str, Any]
    metrics: tuple[Mapping[str, float], ...]
    certified: tuple[CertifiedSet, ...] = ()
    attacked: tuple[Attacked, ...] = ()
    audited: tuple[Audited, ...] = ()
    triangles: tuple[Triangle, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    watched: str = ""
    """The split on which the training watched its accuracy."""

    @property
    def is_log(self) -> bool:
        """Whether this stands for a bare certification log rather than a run directory."""
        return self.path.suffix == ".tsv"

    @property
    def data(self) -> str | None:
        """The data set's name, where the configuration tells it."""
        return component(self.config, "data")

    @property
    def clean(self) -> Share | None:
        """Accuracy without attack: of the plain classifier where an attack saw that, else of the smoothed."""
        plain = sorted(self.attacked, key=lambda attack: attack.smoothed)
        return plain[0].clean if plain else None

    @property
    def updates(self) -> int | None:
        """How many optimiser updates were made, as the last line of the metrics says."""
        return self._last("updates")

    @property
    def passes(self) -> int | None:
        """How many forward and backward passes of a sample the training cost."""
        return self._last("passes")

    def _last(self, key: str) -> int | None:
        found = self.metrics[-1].get(key) if self.metrics else None
        return None if found is None else int(found)


def component(config: Mapping[str, Any], key: str) -> str | None:
    """The name of a configured component, written as ``key: name`` or ``key: {name: ...}``; None: absent."""
    value = config.get(key)
    if isinstance(value, Mapping):
        value = value.get("name")
    return None if value is None or value is False else str(value)
