"""Verification: every certificate of a file recomputed from its draws and hits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.certify.certificates import Certificate, Certificates
from wassermix.certify.record import read_rows
from wassermix.certify.rules import Rule, rule_for
from wassermix.certify.settings import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.files import read_json

__all__ = ["Verification", "find_certifications", "verify_file"]

ROUNDING = 1e-9
"""Two platforms' special functions may differ by this share of a radius, or this much below 1."""


@dataclass(frozen=True)
class Verification:
    """How a file fared: which certificates do not follow from their counts, and why."""

    path: Path
    certificates: int
    failures: tuple[tuple[int, str], ...]
    """(image index, what is wrong), index -1 for the summary."""

    @property
    def holds(self) -> bool:
        """Whether every certificate follows from its counts and the summary from the certificates."""
        return not self.failures


def find_certifications(path: Path) -> list[Path]:
    """The certification tables meant by a run folder, its ``certify`` folder, or one file (.tsv or .json)."""
    if path.is_dir():
        found = sorted([*path.glob("certify/*.tsv"), *path.glob("*.tsv")])
    else:
        found = [path.with_suffix(".tsv")] if path.with_suffix(".tsv").exists() else []
    if not found:
        raise InputError(f"'{path}' holds no certification; expected a run with certify/NAME.tsv or a file")
    return found


def verify_file(path: Path) -> Verification:
    """Recompute every certificate of ``NAME.tsv`` with the parameters of ``NAME.json`` beside it."""
    table, summary = path.with_suffix(".tsv"), path.with_suffix(".json")
    if not table.exists():
        raise InputError(f"'{table}' does not exist")
    if not summary.exists():
        raise InputError(
            f"'{table}' has no '{summary.name}' beside it, so it is not finished; resume it first"
        )
    stored = read_json(summary)
    settings = CertifySettings.from_dict(stored)
    rule, rows = rule_for(settings), read_rows(table)
    problems = [(row.index, _problem(row, settings, rule)) for row in rows.values()]
    problems += _flag_problems(table, rows)
    failures = [(index, problem) for index, problem in problems if problem is not None]
    failures += [(-1, problem) for problem in _summary_problems(rows, settings, stored)]
    return Verification(table, len(rows), tuple(failures))


def _problem(row: Certificate, settings: CertifySettings, rule: Rule) -> str | None:
    """What is wrong with one certificate, or None."""
    if row.mode != settings.mode:
        return f"its mode is {row.mode}, the summary's is {settings.mode}"
    if not 0 <= row.hits <= row.draws or row.draws not in rule.looks:
        return f"{row.hits} hits in {row.draws} draws cannot be: the looks are at {_some(rule.looks)}"
    proved = float(rule.radius(np.asarray(row.draws), np.asarray(row.hits)))
    if np.isnan(proved):
        silent = row.predicted == -1 and row.radius == 0
        return None if silent else "its counts prove nothing, yet it claims a class"
    if row.predicted < 0:
        return f"its counts prove radius {proved:.6g}, yet it abstains"
    if not settings.picks_class and row.predicted != row.label:
        return f"it claims class {row.predicted}, but its draws were counted for its label {row.label}"
    if not _close(row.radius, proved):
        return f"it claims radius {row.radius:.6g}; its counts prove {proved:.6g}"
    return None


def _flag_problems(table: Path, rows: dict[int, Certificate]) -> list[tuple[int, str | None]]:
    """Where the column ``correct`` says other than class and label do."""
    cells = [line.split("\t") for line in table.read_text(encoding="utf-8").split("\n")[1:-1]]
    flags = {int(row[0]): row[4] for row in cells}
    wrong = [index for index, row in rows.items() if flags[index] != str(int(row.correct))]
    return [
        (index, f"its column correct is {flags[index]}, which class and label contradict") for index in wrong
    ]


def _summary_problems(
    rows: dict[int, Certificate], settings: CertifySettings, stored: dict[str, Any]
) -> list[str]:
    """Where the summary says other than the one that the rows give, its time aside."""
    if not rows or any(row.label is None for row in rows.values()):
        return [f"of {len(rows)} rows some have no label, or there are none; nothing can be summed up"]
    found = Certificates.of(list(rows.values()), settings).summary()
    return [
        f"the summary's {name} is {said!r}, its rows give {given!r}"
        for key, value in found.items()
        if key != "seconds"
        for name, said, given in _differences(key, stored.get(key), value)
    ]


def _differences(name: str, said: Any, given: Any) -> Iterator[tuple[str, Any, Any]]:
    """The places where two values of JSON differ, numbers by more than their rounding."""
    if isinstance(given, dict) and isinstance(said, dict):
        for key, value in given.items():
            yield from _differences(f"{name}.{key}", said.get(key), value)
    elif isinstance(given, list) and isinstance(said, list) and len(said) == len(given):
        for number, (one, other) in enumerate(zip(said, given)):
            yield from _differences(f"{name}[{number}]", one, other)
    elif isinstance(given, float) and isinstance(said, (int, float)):
        if not _close(said, given):
            yield name, said, given
    elif said != given:
        yield name, said, given


def _close(said: float, proved: float) -> bool:
    """Equal up to rounding; no NaN is."""
    return abs(said - proved) <= ROUNDING * max(1.0, abs(proved))


def _some(looks: tuple[int, ...]) -> str:
    return ", ".join(map(str, looks)) if len(looks) <= 4 else f"{looks[0]}, {looks[1]}, ..., {looks[-1]}"
