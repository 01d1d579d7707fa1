"""Certifications on disk: ``NAME.json`` with its ``NAME.tsv``, or a log of another repository alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wassermix.certify import Certificates
from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.core.intervals import Share
from wassermix.report.checking import Fields
from wassermix.report.records import CertifiedSet, Rows

__all__ = ["bare_log", "read_certified", "read_rows"]

RESULTS = ("certified", "acr", "p_a", "note", "parameters", "statement")
MEAN_OF_RADII = ("fixed", "tolerance")
"""Modes whose radii may be averaged: a grid rounds them down."""


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
    return CertifiedSet(path.stem, known, table, acr, rows, _sureness(fields, images))


def _sureness(fields: Fields, images: int) -> dict[float, Share]:
    """The distribution of p_A; files of earlier versions have none."""
    return {
        item.number("p"): Share(item.number("share"), item.number("low"), item.number("high"), images)
        for item in (fields.objects("p_a") if "p_a" in fields.values else ())
    }


def bare_log(path: Path) -> CertifiedSet:
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
    """A tab-separated log as arrays; without labels there is nothing that a report could count."""
    log = Certificates.read(path)
    assert log.label is not None, "a log read from a file has its label column"
    assert log.correct is not None, "a log read from a file has its correct column"
    return Rows(log.index.numpy(), log.label.numpy(), log.radius.numpy(), log.correct.numpy())


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
