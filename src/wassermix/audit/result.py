"""What an audit found, and the files that hold it: JSON for curves, arrays for pictures along paths."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix import __version__
from wassermix.core.errors import InputError
from wassermix.core.files import read_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Frames", "PairCurve", "PerformanceGeodesic", "PerformanceSimplex"]

ALONG = ("loss", "kl", "accuracy", "as_source", "as_target", "as_other")
"""What a curve holds at each time."""


@dataclass(frozen=True)
class PairCurve:
    """A model between two classes: means over the path's samples at each time ``t``."""

    source: int
    target: int
    t: list[float]
    loss: list[float]
    """Cross-entropy to the mixed label, which alone has the entropy log 2 at the middle."""
    kl: list[float]
    """Cross-entropy less that entropy: the model's own fault."""
    accuracy: list[float]
    """Share decided for the nearer class; at the middle either counts."""
    as_source: list[float]
    as_target: list[float]
    as_other: list[float]
    total_variation: float
    """``sum |KL(t_{k+1}) - KL(t_k)|``: the regulariser's value on these points."""
    total_variation_loss: float
    """The same for the cross-entropy."""
    worst_t: float
    """Where the KL is largest."""
    flip_t: float | None
    """Where the target first has as many decisions as the source; None where it never does."""
    images: int
    """Particles on the path."""

    def __repr__(self) -> str:
        return (
            f"PairCurve({self.source}-{self.target}: {len(self.t)} points, total variation "
            f"{self.total_variation:.3g}, worst at t={self.worst_t:g})"
        )


@dataclass(frozen=True, eq=False)
class Frames:
    """Pictures along the weakest paths."""

    images: NDArray[np.uint8]
    """``(pairs, samples, times, C, H, W)``."""
    pairs: NDArray[np.int64]
    """Source and target class of each, ``(pairs, 2)``."""
    t: NDArray[np.floating[Any]]
    """``(times,)``."""

    def write(self, path: Path) -> None:
        """Write the ``.npz`` file."""
        with path.open("wb") as file:
            np.savez_compressed(file, frames=self.images, pairs=self.pairs, t=self.t)

    @classmethod
    def read(cls, path: Path) -> Frames:
        """Read what :meth:`write` wrote."""
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                images, pairs, t = file["frames"], file["pairs"], file["t"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise InputError(f"'{path}' holds no pictures of an audit ({error}); audit again") from error
        if images.dtype != np.uint8 or images.ndim != 6 or pairs.shape != (len(images), 2):
            raise InputError(
                f"'{path}': frames are {images.dtype} of shape {images.shape}; expected uint8 of shape "
                "(pairs, samples, times, channels, height, width); audit again"
            )
        return cls(images, pairs, t)


def _known(pair: Mapping[str, Any]) -> dict[str, Any]:
    """A stored curve's own fields, with classes as numbers; earlier versions lack some."""
    defaults = {"total_variation_loss": 0.0, "worst_t": 0.0, "flip_t": None, "images": 0}
    names = PairCurve.__dataclass_fields__
    stored = {**defaults, **{key: value for key, value in pair.items() if key in names}}
    return {**stored, "source": int(stored["source"]), "target": int(stored["target"])}


def _whole(pair: PairCurve, place: int) -> PairCurve:
    """Refuse a curve with holes, naming it."""
    for key in ALONG:
        values = getattr(pair, key)
        if len(values) != len(pair.t) or not all(isinstance(v, int | float) for v in values):
            raise ValueError(f"pairs[{place}]: '{key}' is not {len(pair.t)} numbers")
    return pair


@dataclass(frozen=True, eq=False)
class _Audit(ABC):
    """What curves and surfaces have in common: the parameters that made them, and their file."""

    @property
    def identity(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two audits may stand side by side, beside the data and the classes."""
        known: Mapping[str, Any] = self.parameters  # type: ignore[attr-defined]
        return tuple((key, known.get(key)) for key in IDENTITY)

    def class_name(self, number: int) -> str:
        """The class in words, where the audit knows them."""
        names = self.parameters.get("class_names") or ()  # type: ignore[attr-defined]
        return str(names[number]) if number < len(names) else str(number)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The audit in a JSON file of this version or an earlier one."""
        record = read_json(path)
        try:
            return cls.from_record(record, path)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"'{path}' is not such an audit's file ({type(error).__name__}: {error}); audit again"
            ) from error

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any], path: Path | None = None) -> Self:
        """The audit that :meth:`record` gave; pictures are taken from beside ``path``."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What the JSON file holds."""

    def writers(self) -> dict[str, Callable[[Path], object]]:
        """How each of the audit's files is written, by suffix."""
        text = json.dumps(self.record(), indent=1, allow_nan=False) + "\n"
        return {".json": lambda beside: beside.write_text(text, encoding="utf-8")}


IDENTITY = ("points", "per_class", "sigma", "draws", "seed", "embed", "entropy", "transport")


@dataclass(frozen=True, eq=False)
class PerformanceGeodesic(_Audit):
    """The curves of all audited class pairs, with the parameters that made them."""

    pairs: list[PairCurve]
    parameters: dict[str, Any]
    about: dict[str, Any] = field(default_factory=dict)
    """Which data, split and weights, where a file says it."""
    frames: Frames | None = None

    def __repr__(self) -> str:
        mean = sum(pair.total_variation for pair in self.pairs) / len(self.pairs)
        worst = self.weakest(1)[0]
        return (
            f"PerformanceGeodesic({len(self.pairs)} class pairs, {len(self.pairs[0].t)} points, mean total "
            f"variation {mean:.3g}, weakest {self.class_name(worst.source)}-{self.class_name(worst.target)})"
        )

    def record(self) -> dict[str, Any]:
        """What the JSON file holds."""
        pairs = [asdict(pair) for pair in self.pairs]
        made = {"version": __version__, "parameters": self.parameters, "pairs": pairs}
        return {**self.about, **made, "mean": self.mean()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], path: Path | None = None) -> Self:
        """Read back what :meth:`record` gave."""
        own = ("version", "parameters", "pairs", "mean")
        about = {key: value for key, value in record.items() if key not in own}
        pictures = None if path is None else path.with_suffix(".npz")
        frames = Frames.read(pictures) if pictures is not None and pictures.exists() else None
        pairs = [_whole(PairCurve(**_known(pair)), place) for place, pair in enumerate(record["pairs"])]
        if frames is not None and not {tuple(p) for p in frames.pairs.tolist()} <= {
            (pair.source, pair.target) for pair in pairs
        }:
            raise ValueError("its pictures are of other pairs")
        return cls(pairs, dict(record["parameters"]), about, frames)

    def writers(self) -> dict[str, Callable[[Path], object]]:
        """The pictures first: what they show is in the JSON file, not the other way round."""
        pictures = {} if self.frames is None else {".npz": self.frames.write}
        return {**pictures, **super().writers()}

    def mean(self) -> dict[str, list[float]]:
        """Curves averaged over the pairs: the paper's Fig. 2."""
        table = {key: torch.tensor([getattr(pair, key) for pair in self.pairs]) for key in ALONG}
        return {"t": self.pairs[0].t, **{key: values.mean(dim=0).tolist() for key, values in table.items()}}

    def matrix(self, key: Literal["total_variation", "kl", "accuracy", "as_other"] = "kl") -> Tensor:
        """A symmetric ``(k, k)`` table over the classes, NaN where no pair was audited.

        Curves are averaged over the times where neither class is sure, 0.25 <= t <= 0.75 (over
        all times where none lies there).
        """
        size = 1 + max(max(pair.source, pair.target) for pair in self.pairs)
        table = torch.full((size, size), torch.nan)
        for pair in self.pairs:
            value = getattr(pair, key)
            if isinstance(value, list):
                inner = [v for t, v in zip(pair.t, value) if 0.25 <= t <= 0.75] or value
                value = sum(inner) / len(inner)
            table[pair.source, pair.target] = table[pair.target, pair.source] = value
        return table

    def weakest(self, count: int = 5) -> list[PairCurve]:
        """The pairs between which the model is worst: the largest KL anywhere on the path first."""
        return sorted(self.pairs, key=lambda pair: max(pair.kl), reverse=True)[:count]

    def plot(self) -> Figure:
        """Loss, decisions and the matrix of pairs as a figure."""
        from wassermix.audit.figures import plot_performance

        return plot_performance(self)


Three = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class PerformanceSimplex(_Audit):
    """Loss, KL and the share of decisions for each class, at weights on the triangle of three classes."""

    classes: tuple[int, int, int]
    weights: list[Three]
    loss: list[float]
    kl: list[float]
    decided: list[Three]
    worst: Three
    """The weights where the KL is largest."""
    images: int
    """Particles on the surface."""
    parameters: dict[str, Any]
    about: dict[str, Any] = field(default_factory=dict)
    """Which data, split and weights, where a file says it."""

    def __repr__(self) -> str:
        names = ", ".join(self.class_name(number) for number in self.classes)
        at = ", ".join(f"{weight:.2f}" for weight in self.worst)
        return f"PerformanceSimplex({names}: {len(self.kl)} points, largest KL {max(self.kl):.3g} at ({at}))"

    def record(self) -> dict[str, Any]:
        """What the JSON file holds."""
        own = asdict(self)
        return {**own.pop("about"), "version": __version__, **own}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], path: Path | None = None) -> Self:
        """Read back what :meth:`record` gave."""
        own = ("classes", "weights", "loss", "kl", "decided", "worst", "images", "parameters")
        values = {key: record[key] for key in own}
        for key in ("weights", "decided"):
            values[key] = [(a, b, c) for a, b, c in values[key]]
        values |= {"classes": tuple(values["classes"]), "worst": tuple(values["worst"])}
        about = {key: value for key, value in record.items() if key not in (*own, "version")}
        return cls(**values, about=about)

    def writers(self) -> dict[str, Callable[[Path], object]]:
        """The JSON file and the figure."""
        return {**super().writers(), ".svg": lambda beside: self.plot().savefig(beside, format="svg")}

    def plot(self) -> Figure:
        """The KL over the triangle."""
        from wassermix.audit.figures import plot_simplex

        return plot_simplex(self)
