"""Verification: every certificate of a file recomputed from its counts, and the file held together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.certify.certifier import own_uniform
from wassermix.certify.registry import RULES
from wassermix.certify.result import Certificate, Certificates, digest
from wassermix.certify.rows import read_columns
from wassermix.certify.rule import Rule, picks_class, rule_for
from wassermix.certify.settings import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.fingerprint import selection_fingerprint
from wassermix.core.job import SHARDS

__all__ = ["Verification", "find_certifications", "read_verifiable", "verify_file"]

ROUNDING = 1e-9
"""Two platforms' special functions may differ by this share of a radius, or this much below 1."""
ADDED = ("p_a", "share", "bound", "sampler", "prior", "grid")
"""Parts of a file that those of earlier versions do not have."""
COUNTS = ("draws", "hits", "mode")
"""The columns without which nothing can be recomputed."""


@dataclass(frozen=True)
class Verification:
    """How a file fared: which certificates do not follow from their counts, and why."""

    path: Path
    certificates: int
    failures: tuple[tuple[int, str], ...]
    """(image index, what is wrong), index -1 for the file as a whole."""

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
    if not found and any(path.glob(f"certify/*{SHARDS}")):
        raise InputError(f"'{path}' holds shards only; `wassermix merge {path}` joins them into a result")
    if not found:
        raise InputError(f"'{path}' holds no certification; expected a run with certify/NAME.tsv or a file")
    return found


def read_verifiable(path: Path, *, trust: bool = False) -> Certificates:
    """The certificates of a file that says all that is needed to check them, or a sentence on what lacks.

    A file may name a rule of its own, ``package.module:Class``; it is imported only where ``trust`` says so.
    """
    table, summary = path.with_suffix(".tsv"), path.with_suffix(".json")
    columns = read_columns(table)
    lacking = [name for name in COUNTS if name not in columns]
    if lacking:
        raise InputError(
            f"'{table}' is another program's log: it has no column {lacking[0]}, and only counts can be "
            "checked; `wassermix report` shows it"
        )
    if not summary.exists():
        raise InputError(
            f"'{table}' has no '{summary.name}' beside it, so it is not finished; its certify command with "
            "--resume ends it"
        )
    found = Certificates.read(table)
    assert found.settings is not None, "the summary was read"
    if RULES.is_own(found.settings.mode) and not trust:
        raise InputError(
            f"'{summary}' names the rule '{found.settings.mode}': checking it would import and run that "
            "code; add --trust if you trust where the file comes from"
        )
    return found


def verify_file(path: Path, *, trust: bool = False) -> Verification:
    """Recompute every certificate of ``NAME.tsv`` with the parameters of ``NAME.json`` beside it."""
    found = read_verifiable(path, trust=trust)
    assert found.settings is not None
    rule, modes = rule_for(found.settings), read_columns(path.with_suffix(".tsv"))["mode"]
    rows = [replace(row, mode=mode) for row, mode in zip(found, modes)]
    failures = [(row.index, problem) for row in rows for problem in _problems(row, found.settings, rule)]
    failures += _flag_problems(found)
    failures += [(-1, problem) for problem in (*_set_problems(found), *_summary_problems(found))]
    return Verification(path.with_suffix(".tsv"), len(found), tuple(failures))


def _problems(row: Certificate, settings: CertifySettings, rule: Rule) -> Iterator[str]:
    """What is wrong with one certificate."""
    if row.mode != settings.mode:
        yield f"its mode is {row.mode}, the summary's is {settings.mode}"
    if row.uniform != own_uniform(settings, row.index):
        yield f"its number u is {row.uniform:.6g}, not the one that the seed gives"
    if not 0 <= row.hits <= row.draws or row.draws not in rule.looks:
        yield f"{row.hits} hits in {row.draws} draws cannot be: the looks are at {_some(rule.looks)}"
        return
    proved = float(rule.radius(np.asarray(row.draws), np.asarray(row.hits), row.uniform))
    if np.isnan(proved) and not (row.predicted == -1 and row.radius == 0):
        yield "its counts prove nothing, yet it claims a class"
    if np.isnan(proved):
        return
    if row.predicted < 0:
        yield f"its counts prove radius {proved:.6g}, yet it abstains"
    elif not picks_class(settings) and row.predicted != row.label:
        yield f"it claims class {row.predicted}, but its draws were counted for its label {row.label}"
    elif not _close(row.radius, proved):
        yield f"it claims radius {row.radius:.6g}; its counts prove {proved:.6g}"


def _flag_problems(found: Certificates) -> list[tuple[int, str]]:
    """Where the column ``correct`` says other than class and label do."""
    assert found.correct is not None
    return [
        (row.index, f"its column correct is {int(said)}, which class and label contradict")
        for row, said in zip(found, found.correct)
        if bool(said) != row.correct
    ]


def _set_problems(found: Certificates) -> Iterator[str]:
    """Where the rows are not those of the images that were selected, or the file was changed afterwards."""
    indices = found.index.tolist()
    for index, count in Counter(indices).items():
        if count > 1:
            yield f"image {index} has {count} rows"
    selection = found.about.get("selection")
    if selection != selection_fingerprint(indices):
        yield "its images are not those that were selected, or not in their order: rows were added or removed"
    stored = found.about.get("digest")
    if stored is None and "sampler" in found.about:
        yield "its digest was removed, so nothing vouches for its parameters"
    elif stored is not None and stored != digest(found.about, found):
        yield "its digest does not fit: a parameter or a row was changed after it was written"


def _summary_problems(found: Certificates) -> list[str]:
    """Where the summary says other than the one that the rows give, its time aside."""
    assert found.settings is not None
    assert found.label is not None
    if bool((found.label < 0).any()):
        return ["some rows have no label; nothing can be summed up"]
    if any(not 0 <= row.hits <= row.draws for row in found):
        return []  # said of the rows themselves; impossible counts give no summary
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
    elif isinstance(given, float) and isinstance(said, int | float):
        if not _close(said, given):
            yield name, said, given
    elif said != given:
        yield name, said, given


def _close(said: float, proved: float) -> bool:
    """Equal up to rounding; no NaN is."""
    return abs(said - proved) <= ROUNDING * max(1.0, abs(proved))


def _some(looks: tuple[int, ...]) -> str:
    return ", ".join(map(str, looks)) if len(looks) <= 4 else f"{looks[0]}, {looks[1]}, ..., {looks[-1]}"
