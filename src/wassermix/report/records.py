"""What a page shows of a run: views of its results, in the arrays and words that tables and figures use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.attacks.result import AttackResult, Check
from wassermix.audit.result import ALONG, PerformanceGeodesic, PerformanceSimplex
from wassermix.audit.result import PairCurve as AuditedPair
from wassermix.certify.result import Certificates
from wassermix.core.intervals import Share, share_of

__all__ = ["Attacked", "Audited", "CertifiedSet", "PairCurve", "RunRecord", "Triangle"]

Floats = NDArray[np.float64]
LOG_STEP = 0.25
"""Radii at which a log that does not tell its own is shown."""


@dataclass(frozen=True, eq=False)
class CertifiedSet:
    """One certification of a run: every number is counted from its rows."""

    name: str
    result: Certificates

    @property
    def radii(self) -> tuple[float, ...]:
        """The radii of its table; a log that does not tell is shown at steps."""
        if self.result.settings is not None:
            return self.result.settings.radii
        largest = max(float(self.result.radius.max()), LOG_STEP)
        return tuple(np.arange(0, largest + 1e-9, LOG_STEP).tolist())

    @cached_property
    def table(self) -> dict[float, Share]:
        """Certified accuracy at each radius that its draws could prove at all."""
        rows = self.result.certified_accuracy([r for r in self.radii if r <= self.result.reach])
        return {row.radius: share_of(row.count, row.images) for row in rows}

    @cached_property
    def sureness(self) -> dict[float, Share]:
        """The share of images whose label has probability at least p under noise, by p."""
        stored = self.result.about.get("p_a") or ()
        return {row["p"]: Share(row["share"], row["low"], row["high"], self.images) for row in stored}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the numbers depend on; a log of others tells only its name."""
        if self.result.settings is None:
            return {"log": f"{self.name}.tsv"}
        results = ("certified", "acr", "p_a", "note", "parameters", "statement", "digest")
        return {key: value for key, value in self.result.about.items() if key not in results}

    @property
    def protocol(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two tables may stand side by side."""
        return self.result.protocol

    @property
    def acr(self) -> float | None:
        """The average certified radius, where radii may be averaged."""
        return self.result.acr if self.result.has_acr else None

    @property
    def images(self) -> int:
        """How many images were certified."""
        return len(self.result)

    @property
    def index(self) -> NDArray[np.int64]:
        """Which images."""
        return self.result.index.numpy()

    @property
    def label(self) -> NDArray[np.int64]:
        """Their classes."""
        assert self.result.label is not None, "a log read from a file has its label column"
        return self.result.label.numpy()

    @property
    def radius(self) -> Floats:
        """What is proved for each."""
        return self.result.radius.numpy()

    def certified(self, radius: float) -> NDArray[np.bool_]:
        """Whether each image is right with at least this radius."""
        assert self.result.correct is not None, "a log read from a file has its correct column"
        found: NDArray[np.bool_] = self.result.correct.numpy() & (self.radius >= radius)
        return found


@dataclass(frozen=True, eq=False)
class Attacked:
    """One attack on a run."""

    name: str
    result: AttackResult

    @property
    def title(self) -> str:
        """The attack in a few words."""
        return self.result.title

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the number depends on."""
        return {key: value for key, value in self.result.parameters.items() if key != "note"}

    @property
    def protocol(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two numbers may stand side by side."""
        return self.result.identity

    @property
    def clean(self) -> Share:
        """Accuracy without the attack."""
        return self.result.clean

    @property
    def robust(self) -> Share:
        """Accuracy under it."""
        return self.result.robust

    @property
    def checks(self) -> tuple[Check, ...]:
        """Reasons to believe the number, or not to."""
        return self.result.checks

    @property
    def doubts(self) -> tuple[Check, ...]:
        """Failed checks by which the number itself may be wrong."""
        return self.result.doubts

    @property
    def smoothed(self) -> bool:
        """Whether the attacked classifier was the smoothed one, which votes under noise."""
        return "votes" in self.result.parameters

    @property
    def index(self) -> NDArray[np.int64]:
        """Which images."""
        return self.result.index.numpy()

    @property
    def label(self) -> NDArray[np.int64]:
        """Their classes."""
        return self.result.label.numpy()

    def flags(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which images are right without and under the attack."""
        return self.result.clean_correct.numpy(), self.result.robust_correct.numpy()


@dataclass(frozen=True, eq=False)
class PairCurve:
    """The performance geodesic of one ordered pair of classes; every array runs along ``t``."""

    source: str
    target: str
    numbers: tuple[int, int]
    t: Floats
    loss: Floats
    kl: Floats
    accuracy: Floats
    as_source: Floats
    as_target: Floats
    as_other: Floats
    total_variation: float
    flip_t: float | None

    @property
    def label(self) -> str:
        """The pair in words."""
        return f"{self.source} → {self.target}"


@dataclass(frozen=True, eq=False)
class Audited:
    """One audit of a run: the curves of all pairs and, where stored, pictures along each geodesic."""

    name: str
    result: PerformanceGeodesic

    @cached_property
    def pairs(self) -> tuple[PairCurve, ...]:
        """The curves, with classes in words where the audit knows them."""
        return tuple(_curve(self.result, pair) for pair in self.result.pairs)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the curves depend on."""
        about = {key: value for key, value in self.result.about.items() if key != "note"}
        return {**about, **self.result.parameters}

    @property
    def other_pairs(self) -> str:
        """``random pairs``: who went where, if not by exact transport; else nothing."""
        return _other_pairs(self.result.parameters)

    @property
    def times(self) -> Floats:
        """The times of the pictures."""
        return np.zeros(0) if self.result.frames is None else self.result.frames.t.astype(np.float64)

    @cached_property
    def pictures(self) -> dict[int, NDArray[np.uint8]]:
        """Position among ``pairs`` -> pictures ``(samples, times, C, H, W)``; not every pair has them."""
        if self.result.frames is None:
            return {}
        places = {pair.numbers: place for place, pair in enumerate(self.pairs)}
        ends = [(int(a), int(b)) for a, b in self.result.frames.pairs]
        return {places[end]: part for end, part in zip(ends, self.result.frames.images)}


def _other_pairs(parameters: Mapping[str, Any]) -> str:
    """Exact paths have no word, so that sorting by it puts them first."""
    pairing = parameters.get("transport") or "exact"
    return "" if pairing == "exact" else f"{pairing} pairs"


def _curve(audit: PerformanceGeodesic, pair: AuditedPair) -> PairCurve:
    along = {key: np.asarray(getattr(pair, key), dtype=np.float64) for key in ("t", *ALONG)}
    return PairCurve(
        source=audit.class_name(pair.source),
        target=audit.class_name(pair.target),
        numbers=(pair.source, pair.target),
        total_variation=pair.total_variation,
        flip_t=pair.flip_t,
        **along,
    )


@dataclass(frozen=True, eq=False)
class Triangle:
    """A model between three classes at once."""

    name: str
    result: PerformanceSimplex

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the surface depends on."""
        about = {key: value for key, value in self.result.about.items() if key != "note"}
        return {**about, **self.result.parameters}

    @property
    def other_pairs(self) -> str:
        """As of :class:`Audited`."""
        return _other_pairs(self.result.parameters)

    @property
    def classes(self) -> tuple[str, ...]:
        """The three classes in words."""
        return tuple(self.result.class_name(number) for number in self.result.classes)

    @property
    def weights(self) -> Floats:
        """``(n, 3)``: how much of each class."""
        return np.asarray(self.result.weights, dtype=np.float64)

    @property
    def kl(self) -> Floats:
        """The KL at each of them."""
        return np.asarray(self.result.kl, dtype=np.float64)


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
    """Along exact paths first: what stands for the run is the first of them, random pairs are its control."""
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
    def model_file(self) -> str | None:
        """The file of a model that was not trained here, where a result tells it."""
        held = [one.result.about for one in self.certified] + [one.parameters for one in self.attacked]
        held += [one.parameters for one in self.audited]
        return next((str(one["model_file"]) for one in held if one.get("model_file")), None)

    @property
    def clean(self) -> Share | None:
        """Accuracy without attack of the plain classifier, where an attack saw that."""
        return next((attack.clean for attack in self.attacked if not attack.smoothed), None)

    @property
    def clean_smoothed(self) -> Share | None:
        """Accuracy without attack of the smoothed classifier, where an attack saw that."""
        return next((attack.clean for attack in self.attacked if attack.smoothed), None)

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
