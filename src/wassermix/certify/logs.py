"""The field's certification logs (idx label predict radius correct time), as others publish them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from wassermix.certify.certificates import Certificates
from wassermix.certify.settings import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.files import read_json

__all__ = ["read_log"]

NEEDED = ("idx", "label", "predict", "radius", "correct")


def read_log(path: Path) -> Certificates:
    """A TSV log, another's or ours, as :class:`Certificates`: the same tables and curves.

    Where draws and hits or the parameters beside the file are missing, so are they in the result.
    Published logs print radii to three digits, so at a radius of a grid they are slightly generous.
    """
    header, rows = _cells(path)
    missing = [name for name in NEEDED if name not in header]
    if missing:
        names = ", ".join(NEEDED)
        raise InputError(f"'{path}' lacks the column {missing[0]}; expected a first line with {names}")
    columns = {name: [row[position] for row in rows] for position, name in enumerate(header)}
    return Certificates(
        index=_numbers(path, columns, "idx", torch.int64),
        label=_numbers(path, columns, "label", torch.int64),
        predicted=_numbers(path, columns, "predict", torch.int64),
        radius=_numbers(path, columns, "radius", torch.float64),
        correct=_numbers(path, columns, "correct", torch.int64).bool(),
        draws=_numbers(path, columns, "draws", torch.int64) if "draws" in columns else None,
        hits=_numbers(path, columns, "hits", torch.int64) if "hits" in columns else None,
        settings=_settings(path.with_suffix(".json")),
    )


def _cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names and the whole rows; a last line cut off in its middle is passed over."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is not a readable certification log") from error
    if not lines:
        raise InputError(f"'{path}' is empty; expected a certification log")
    header, rows = lines[0].split("\t"), [line.split("\t") for line in lines[1:]]
    if rows and len(rows[-1]) < len(header):
        rows = rows[:-1]
    uneven = [number for number, row in enumerate(rows, 2) if len(row) < len(header)]
    if uneven or not rows:
        where = f"line {uneven[0]} has too few cells" if uneven else "it has no rows"
        raise InputError(f"'{path}': {where}; expected {len(header)} cells a line, separated by tabs")
    return header, rows


def _numbers(path: Path, columns: Mapping[str, Sequence[str]], name: str, dtype: torch.dtype) -> torch.Tensor:
    try:
        return torch.tensor([float(cell) for cell in columns[name]], dtype=torch.float64).to(dtype)
    except ValueError as error:
        raise InputError(f"'{path}': column {name} holds something that is not a number ({error})") from error


def _settings(beside: Path) -> CertifySettings | None:
    return CertifySettings.from_dict(read_json(beside)) if beside.exists() else None
