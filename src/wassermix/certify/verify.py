"""Verification: every certificate of a file recomputed from its draws and hits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.certify.result import Certificate, Certificates
from wassermix.certify.rows import COLUMNS, read_columns
from wassermix.certify.rule import Rule, picks_class, rule_for
from wassermix.certify.settings import CertifySettings
from wassermix.core.errors import InputError

__all__ = ["Verification", "find_certifications", "verify_file"]

ROUNDING = 1e-9
"""Two platforms' special functions may differ by this share of a radius, or this much below 1."""

ADDED = ("p_a",)
"""Parts of a summary that the files of earlier versions do not have."""


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
    found = Certificates.read(table)
    settings, columns = found.settings, read_columns(table)
    lacking = [name for name in COLUMNS if name not in columns]
    if settings is None or lacking:
        raise InputError(
            f"'{table}' lacks the column {lacking[0]}; it is another program's log, which can be reported "
            "but not verified: only counts can be checked"
        )
    rule = rule_for(settings)
    problems = [(row.index, _problem(row, settings, rule)) for row in _rows(found, columns)]
    problems += _flag_problems(found)
    failures = [(index, problem) for index, problem in problems if problem is not None]
    failures += [(-1, problem) for problem in _summary_problems(found)]
    return Verification(table, len(found), tuple(failures))


def _rows(found: Certificates, columns: dict[str, list[str]]) -> Iterator[Certificate]:
    """The rows with the mode that each of them names."""
    return (replace(row, mode=mode) for row, mode in zip(found, columns["mode"]))


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
    if not picks_class(settings) and row.predicted != row.label:
        return f"it claims class {row.predicted}, but its draws were counted for its label {row.label}"
    if not _close(row.radius, proved):
        return f"it claims radius {row.radius:.6g}; its counts prove {proved:.6g}"
    return None


def _flag_problems(found: Certificates) -> list[tuple[int, str | None]]:
    """Where the column ``correct`` says other than class and label do."""
    assert found.correct is not None
    return [
        (row.index, f"its column correct is {int(said)}, which class and label contradict")
        for row, said in zip(found, found.correct)
        if bool(said) != row.correct
    ]


def _summary_problems(found: Certificates) -> list[str]:
    """Where the summary says other than the one that the rows give, its time aside."""
    assert found.settings is not None
    assert found.label is not None
    if bool((found.label < 0).any()):
        return ["some rows have no label; nothing can be summed up"]
    given = Certificates.of(list(found), found.settings).summary()
    return [
        f"the summary's {name} is {said!r}, its rows give {value!r}"
        for key, whole in given.items()
        if key != "seconds" and (key in found.about or key not in ADDED)
        for name, said, value in _differences(key, found.about.get(key), whole)
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
