"""Certificates of a set of images: certified accuracy with intervals, the average radius, and their file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wassermix.certify.bounds import false_certificates
from wassermix.certify.pa import distribution, plain
from wassermix.certify.rows import Certificate, read_columns, rows_text, seconds_of
from wassermix.certify.rule import furthest, picks_class, protocol_of, rounds_down
from wassermix.certify.samplers import what_is_certified
from wassermix.certify.settings import CertifySettings, default_radii
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_json
from wassermix.core.intervals import exact_interval, wilson_interval

__all__ = ["Certificate", "Certificates", "CertifiedAccuracy", "digest"]


@dataclass(frozen=True)
class CertifiedAccuracy:
    """The share of all images that are right within ``radius``, with its 95% Wilson interval."""

    radius: float
    accuracy: float
    low: float
    high: float
    count: int
    images: int


@dataclass(frozen=True)
class Certificates:
    """The certificates of a set of images, one row per image.

    Tensors of shape (n,): ``index``, ``predicted``, ``radius`` (float64); ``label`` and ``correct``
    where labels are known; ``draws``, ``hits`` and ``seconds`` where recorded (the logs of others
    lack them, and their ``settings``). ``about`` is what the file says beside: the model's fingerprint,
    data, split, the selection of images.
    """

    index: Tensor
    predicted: Tensor
    radius: Tensor
    label: Tensor | None = None
    correct: Tensor | None = None
    draws: Tensor | None = None
    hits: Tensor | None = None
    seconds: Tensor | None = None
    uniform: Tensor | None = None
    settings: CertifySettings | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        rows: Sequence[Certificate], settings: CertifySettings, about: Mapping[str, Any] | None = None
    ) -> Certificates:
        """Gather single certificates, in the order given."""
        labels = [row.label for row in rows]
        known = bool(rows) and all(label is not None for label in labels)
        return Certificates(
            index=torch.tensor([row.index for row in rows], dtype=torch.int64),
            predicted=torch.tensor([row.predicted for row in rows], dtype=torch.int64),
            radius=torch.tensor([row.radius for row in rows], dtype=torch.float64),
            label=torch.tensor(labels, dtype=torch.int64) if known else None,
            correct=torch.tensor([row.correct for row in rows], dtype=torch.bool) if known else None,
            draws=torch.tensor([row.draws for row in rows], dtype=torch.int64),
            hits=torch.tensor([row.hits for row in rows], dtype=torch.int64),
            seconds=torch.tensor([row.seconds for row in rows], dtype=torch.float64),
            uniform=torch.tensor([row.uniform for row in rows], dtype=torch.float64),
            settings=settings,
            about=about or {},
        )

    @staticmethod
    def read(path: Path) -> Certificates:
        """The certificates of ``NAME.tsv`` with what ``NAME.json`` beside it says; either may be named.

        A log of another's program will do: where draws and hits, or the parameters beside the file, are
        missing, so are they in the result. Published logs print radii to three digits, so at a radius of
        a grid they are slightly generous.
        """
        table = path.with_suffix(".tsv") if path.suffix == ".json" else path
        beside = path.with_suffix(".json")
        columns, record = read_columns(table), read_json(beside) if beside.exists() else None
        if record is not None and not isinstance(record, dict):
            raise InputError(f"'{beside}' holds no parameters; expected a JSON object as certify writes it")
        numbers = {name: _numbers(table, columns, name) for name in ("draws", "hits") if name in columns}
        return Certificates(
            index=_numbers(table, columns, "idx"),
            label=_numbers(table, columns, "label"),
            predicted=_numbers(table, columns, "predict"),
            radius=_numbers(table, columns, "radius", torch.float64),
            correct=_numbers(table, columns, "correct").bool(),
            seconds=_seconds(columns.get("time")),
            uniform=_numbers(table, columns, "u", torch.float64) if "u" in columns else None,
            settings=None if record is None else _settings(beside, record),
            about={"log mode": columns["mode"][0]} if record is None and "mode" in columns else record or {},
            **numbers,
        )

    def writers(self) -> dict[str, Callable[[Path], object]]:
        """How the two files are written: the log, and the summary with all parameters."""
        record = {**self.about, **self.summary()}
        record["digest"] = digest(record, self)
        return {
            ".tsv": lambda path: path.write_text(rows_text(self), encoding="utf-8"),
            ".json": lambda path: write_json(path, record),
        }

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, position: int) -> Certificate:
        return Certificate(
            index=int(self.index[position]),
            label=None if self.label is None else int(self.label[position]),
            predicted=int(self.predicted[position]),
            radius=float(self.radius[position]),
            draws=-1 if self.draws is None else int(self.draws[position]),
            hits=-1 if self.hits is None else int(self.hits[position]),
            mode="unknown" if self.settings is None else self.settings.mode,
            seconds=0.0 if self.seconds is None else float(self.seconds[position]),
            uniform=1.0 if self.uniform is None else float(self.uniform[position]),
        )

    def __iter__(self) -> Iterator[Certificate]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        abstained = int((self.predicted < 0).sum())
        spent = "" if self.draws is None else f", mean draws {self.draws.double().mean():.0f}"
        settings = self.settings or "settings unknown"
        return f"Certificates({len(self)} images, {abstained} abstained{spent}, {settings})"

    def certified_accuracy(self, radii: Sequence[float] | None = None) -> list[CertifiedAccuracy]:
        """The share with the right class and ``radius >= r`` among *all* images, for each r.

        In ``grid`` mode a radius is known at the points of its grid only: others are refused.
        """
        right, proved = self._right(), self.radius.numpy()
        chosen = self._radii(radii)
        counts = [int(np.sum(right & (proved >= r))) for r in chosen]
        return [_accuracy(r, count, len(right)) for r, count in zip(chosen, counts)]

    @property
    def has_acr(self) -> bool:
        """Whether radii may be averaged: they may not where the rule rounds them down to a grid.

        A rule that only a file names (``package.module:Class``) is not imported to find out.
        """
        mode = self.about.get("log mode") if self.settings is None else self.settings.mode
        return mode is None or not rounds_down(mode)

    @property
    def reach(self) -> float:
        """The radius beyond which not even flawless draws prove anything; infinite where it is not known."""
        return float("inf") if self.settings is None else furthest(self.settings)

    @property
    def protocol(self) -> tuple[tuple[str, Any], ...]:
        """What must agree before two tables may stand side by side; empty for logs that do not tell."""
        return () if self.settings is None else protocol_of(self.settings.as_dict())

    @property
    def acr(self) -> float:
        """The average certified radius ``mean(radius * correct)``; not of a grid, which rounds radii down."""
        if not self.has_acr:
            mode = self.settings.mode if self.settings is not None else "unknown"
            raise InputError(f"mode '{mode}' has no average certified radius; use 'fixed' or 'tolerance'")
        return float(np.mean(self.radius.numpy() * self._right()))

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """The certified accuracy as a step function: radii in order, and the share certified up to each."""
        radii = np.unique(np.append(0.0, self.radius.numpy()[self._right()]))
        return radii, np.array([np.mean(self._right() & (self.radius.numpy() >= r)) for r in radii])

    def summary(self) -> dict[str, Any]:
        """Plain values for JSON: every parameter, the table, draws, saving, and the statement on the set.

        Without labels the table is empty and there is no average radius; the rest stands.
        """
        s, draws, known = self.settings, self.draws, self.correct is not None
        assert s is not None, "a log of others has no summary of its own"
        assert draws is not None, "a log of others has no draws"
        mean, median = float(np.mean(draws.numpy())), float(np.median(draws.numpy()))
        spent = mean + (s.n0 if picks_class(s) else 0)
        return {
            **s.as_dict(),
            "images": len(self),
            "certified": [_plain(row) for row in self.certified_accuracy()] if known else [],
            "acr": self.acr if known and self.has_acr else None,
            "p_a": plain(distribution(self)) if known and len(self) else [],
            "abstained": int((self.predicted < 0).sum()),
            "draws": {"mean": mean, "median": median, "total": int(draws.sum())},
            "saving": (s.n0 + s.n) / spent,
            "expected_false": s.alpha * len(self),
            "statement": self._statement(),
            "seconds": 0.0 if self.seconds is None else float(self.seconds.sum()),
        }

    def _statement(self) -> str:
        assert self.settings is not None
        images, alpha = len(self), self.settings.alpha
        false = false_certificates(images, alpha)
        return (
            f"each certificate is false with probability at most {alpha:g}; of these {images} at most "
            f"{alpha * images:g} are expected to be, and at most {false} are, with 95% confidence"
            f"{what_is_certified(self.settings)}"
        )

    def _right(self) -> np.ndarray:
        if self.correct is None:
            raise InputError("certified accuracy needs labels; give y to certify")
        return self.correct.numpy()

    def _radii(self, radii: Sequence[float] | None) -> tuple[float, ...]:
        s = self.settings
        if radii is None:
            return s.radii if s is not None else default_radii(0.5)
        off = [r for r in radii if s is not None and not self.has_acr and r not in s.radii]
        if off:
            grid = ", ".join(f"{r:g}" for r in s.radii) if s is not None else ""
            raise InputError(f"radius {off[0]:g} is not on the grid {grid} ; certify with it")
        return tuple(radii)


def digest(record: Mapping[str, Any], rows: Iterable[Certificate]) -> str:
    """Hex digits of all that a file says but its times: whatever is changed by hand, they no longer fit.

    No signature: who changes the file can make new ones. Only drawing the noise again shows that.
    """
    told = {key: value for key, value in record.items() if key not in ("digest", "seconds")}
    text = json.dumps(told, sort_keys=True) + rows_text(replace(row, seconds=0.0) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _accuracy(radius: float, count: int, images: int) -> CertifiedAccuracy:
    low, high = wilson_interval(count, images)
    return CertifiedAccuracy(float(radius), count / images, low, high, count, images)


def _plain(row: CertifiedAccuracy) -> dict[str, Any]:
    exact = exact_interval(row.count, row.images)
    return {**asdict(row), "exact_low": exact[0], "exact_high": exact[1]}


def _numbers(
    path: Path, columns: Mapping[str, Sequence[str]], name: str, dtype: torch.dtype = torch.int64
) -> Tensor:
    read = float if dtype == torch.float64 else int
    try:
        return torch.tensor([read(cell) for cell in columns[name]], dtype=dtype)
    except (ValueError, OverflowError, RuntimeError) as error:
        raise InputError(f"'{path}': column {name} holds something that is not a number ({error})") from error


def _settings(path: Path, record: Mapping[str, Any]) -> CertifySettings:
    try:
        settings = CertifySettings.from_dict(record)
    except InputError as error:
        raise InputError(f"'{path}': {error}") from error
    if settings.sampler == "auto" or (settings.sampler == "exact" and not settings.grid):
        raise InputError(
            f"'{path}': sampler is '{settings.sampler}' and grid {settings.grid}, which does not say what "
            "noise was drawn; the file was changed or is damaged: copy it again"
        )
    return settings


def _seconds(cells: Sequence[str] | None) -> Tensor | None:
    """The column of times, where it is there and every cell is one."""
    try:
        return None if cells is None else torch.tensor([seconds_of(cell) for cell in cells]).double()
    except ValueError:
        return None
