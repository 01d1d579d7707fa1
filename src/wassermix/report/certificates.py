"""Certifications on disk: ``NAME.json`` with its ``NAME.tsv``, or a log of another repository alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wassermix.errors import InputError
from wassermix.files import read_json
from wassermix.report.checking import Fields
from wassermix.report.records import CertifiedSet, Rows
from wassermix.report.statistics import Share

__all__ = ["read_certified", "read_log", "read_rows"]

COLUMNS = ("idx", "label", "radius", "correct")
RESULTS = ("certified", "acr", "note", "parameters", "radii")
MEAN_OF_RADII = ("fixed", "tolerance", None)
"""Modes whose radii may be averaged; None is a log that does not tell (the field's procedure)."""


def read_certified(path: Path, fields: Fields) -> CertifiedSet:
    """A certification from its JSON file and, where it is there, the log beside it."""
    log = path.with_suffix(".tsv")
    rows = read_rows(log) if log.exists() else None
    nested = fields.values.get("parameters")
    given = {**fields.values, **(nested if isinstance(nested, dict) else {})}
    stored = given.get("images")
    images = len(rows) if rows is not None else int(stored) if isinstance(stored, int) else 0
    table = {item.number("radius"): item.share(images) for item in fields.objects("certified")}
    if rows is not None:
        _agree(path, table, rows)
    known = {key: value for key, value in given.items() if key not in RESULTS}
    acr = fields.optional("acr") if known.get("mode") in MEAN_OF_RADII else None
    return CertifiedSet(path.stem, known, table, acr, rows)


def read_log(path: Path) -> CertifiedSet:
    """A log that stands for a run; its parameters come from a JSON file beside it, if there is one."""
    beside = path.with_suffix(".json")
    if beside.exists():
        return read_certified(beside, Fields(read_json(beside), beside))
    rows = read_rows(path)
    radii = np.arange(0, max(float(rows.radius.max()), 0.25) + 1e-9, 0.25)
    table = {float(radius): rows.share(float(radius)) for radius in radii}
    acr = float(np.mean(np.where(rows.correct, rows.radius, 0.0)))
    return CertifiedSet(path.stem, {"log": path.name}, table, acr, rows)


def read_rows(path: Path) -> Rows:
    """A tab-separated log with at least the columns ``idx label radius correct``."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not text; expected a tab-separated certification log") from error
    header, body = (
        lines[0].rstrip("\r").split("\t"),
        [line.rstrip("\r") for line in lines[1:] if line.strip()],
    )
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise InputError(
            f"'{path}': no column {', '.join(missing)} in its first line; expected the tab-separated columns "
            "idx label predict radius correct time"
        )
    if not body:
        raise InputError(f"'{path}' holds no certificates; expected a row an image")
    values = {column: _column(path, body, column, header.index(column)) for column in COLUMNS}
    return Rows(
        index=values["idx"].astype(np.int64),
        label=values["label"].astype(np.int64),
        radius=values["radius"],
        correct=values["correct"] > 0,
    )


def _column(path: Path, body: list[str], column: str, position: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.empty(len(body))
    for number, line in enumerate(body):
        try:
            values[number] = float(line.split("\t")[position])
        except (IndexError, ValueError) as error:
            raise InputError(
                f"'{path}', line {number + 2}: column '{column}' is not a number; "
                "cut the log back to its last whole line or certify again"
            ) from error
    return values


def _agree(path: Path, table: dict[float, Share], rows: Rows) -> None:
    """A table and a log that tell different stories are not shown at all."""
    for radius, share in table.items():
        counted = rows.share(radius).accuracy
        if abs(share.accuracy - counted) > 0.5 / len(rows):
            raise InputError(
                f"'{path}' says that {share.accuracy:.4f} of the images are certified at radius {radius:g}, "
                f"but the rows of '{path.stem}.tsv' say {counted:.4f}; one of them was changed: "
                "certify again with --overwrite"
            )
