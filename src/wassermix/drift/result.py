"""What a drift check found: written to its file and read back from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.drift.interval import Interval
from wassermix.drift.moved import Column, Moved
from wassermix.drift.shift_test import ShiftTest
from wassermix.drift.way import Way

__all__ = ["ClassEstimate", "DriftResult", "Powered", "read_result"]

FORMAT = 1


@dataclass(frozen=True)
class ClassEstimate:
    """One class: how often the model decides for it, and how often rightly by the estimate."""

    label: int
    decided: int
    accuracy: float | None
    """None where the model never decides for it."""
    reference_accuracy: float | None
    growth: float
    """The factor by which the plan lets the class's share change."""


@dataclass(frozen=True)
class Powered:
    """The interval from a few labels, and what the labels alone would give."""

    labels: int
    interval: Interval
    labels_only: Interval


@dataclass(frozen=True, eq=False)
class DriftResult:
    """A drift check; shares are in [0, 1]."""

    parameters: Mapping[str, Any]
    """Settings, data, model: what the numbers depend on."""
    reference_accuracy: float
    reference_count: int
    new_count: int
    used_count: int
    estimate: Interval
    estimates: Mapping[str, float]
    """Every estimator's accuracy by name, the leading one's too."""
    classes: tuple[ClassEstimate, ...]
    tests: tuple[ShiftTest, ...]
    drifted: bool
    """Whether a test rejects "no drift" at the level asked for (Holm over the spaces)."""
    doubts: tuple[str, ...]
    moved: Moved
    way: Way | None = None
    powered: Powered | None = None
    truth: float | None = None
    """The true accuracy, where labels were given to be compared with."""
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Estimated accuracy lost against the reference."""
        return self.reference_accuracy - self.estimate.estimate

    def record(self) -> dict[str, Any]:
        """All of it as plain JSON values; the parameters stand at the top."""
        own = asdict(self)
        return {"format": FORMAT, **own.pop("parameters"), **own, "loss": self.loss}


def read_result(path: Path) -> DriftResult:
    """A result back from its file; one that is damaged or of another version is an :class:`InputError`."""
    record = read_json(path)
    try:
        return _from(record)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"'{path}' is no drift result of this version ({error}); run drift again") from error


def _from(record: Mapping[str, Any]) -> DriftResult:
    names = DriftResult.__dataclass_fields__
    plain = {key: record[key] for key in names if key in record and key not in PARTS}
    made = {key: make(record[key]) for key, make in PARTS.items() if record.get(key) is not None}
    parameters = {
        key: value for key, value in record.items() if key not in names and key not in ("format", "loss")
    }
    return DriftResult(parameters=parameters, **plain, **made)


def _moved(value: Mapping[str, Any]) -> Moved:
    columns = tuple(
        Column(**{**one, "old": tuple(one["old"]), "new": tuple(one["new"])}) for one in value["columns"]
    )
    return Moved(value["distance"], columns, tuple(value["furthest"]))


def _powered(value: Mapping[str, Any]) -> Powered:
    return Powered(value["labels"], Interval(**value["interval"]), Interval(**value["labels_only"]))


def _way(value: Mapping[str, Any]) -> Way:
    lists = {key: tuple(value[key]) for key in ("t", "accuracy", "confidence")}
    return Way(**lists, fails_at=value["fails_at"])


PARTS: dict[str, Any] = {
    "estimate": lambda value: Interval(**value),
    "classes": lambda value: tuple(ClassEstimate(**one) for one in value),
    "tests": lambda value: tuple(ShiftTest(**{**one, "samples": tuple(one["samples"])}) for one in value),
    "doubts": tuple,
    "moved": _moved,
    "way": _way,
    "powered": _powered,
    "notes": tuple,
}
"""Field -> how it comes back from JSON, where that is not as it is."""
