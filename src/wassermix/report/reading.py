"""From a run directory, or a bare certification log, to the records that a report shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from wassermix.attacks.result import AttackResult
from wassermix.audit.result import PerformanceGeodesic, PerformanceSimplex
from wassermix.certify.result import Certificates
from wassermix.core.errors import InputError
from wassermix.report.records import Attacked, Audited, CertifiedSet, RunRecord, Triangle

__all__ = ["load_run", "load_runs"]

PARTS = ("config.yaml", "certify", "attack", "audit", "drift")


def load_runs(paths: list[Path]) -> list[RunRecord]:
    """Every run in the order given, under names that differ."""
    if not paths:
        raise InputError("no run was given; name at least one run directory or certification log (.tsv)")
    return [load_run(path, name) for path, name in zip(paths, _names(paths))]


def load_run(path: Path, name: str | None = None) -> RunRecord:
    """Read one run directory, or a ``.tsv`` log that stands for a run."""
    name = name or _last(path)
    if path.is_file() and path.suffix == ".tsv":
        log = CertifiedSet(path.stem, Certificates.read(path))
        return RunRecord(name, path, config={}, metrics=(), certified=(log,))
    _require_run(path)
    config, lines = _config(path / "config.yaml"), _metrics(path / "metrics.jsonl")
    certified = tuple(CertifiedSet(file.stem, Certificates.read(file)) for file in _files(path / "certify"))
    attacked = tuple(Attacked(file.stem, AttackResult.read(file)) for file in _files(path / "attack"))
    audited = [Audited(file.stem, PerformanceGeodesic.read(file)) for file in _files(path / "audit")]
    simplex = _files(path / "audit" / "simplex")
    triangles = [Triangle(file.stem, PerformanceSimplex.read(file)) for file in simplex]
    return RunRecord(
        name,
        path,
        config=config,
        metrics=tuple(_flat(line) for line in lines),
        certified=certified,
        attacked=attacked,
        audited=tuple(sorted(audited, key=lambda one: one.other_pairs)),
        triangles=tuple(sorted(triangles, key=lambda one: one.other_pairs)),
        notes=_notes(config, certified, attacked, audited),
        warnings=tuple(_unfinished(path)),
        watched=str(lines[-1].get("accuracy_on", "")) if lines else "",
    )


def _require_run(path: Path) -> None:
    if path.is_file():
        raise InputError(f"'{path}' is a file; expected a run directory, or a log ending in .tsv")
    if not path.is_dir():
        raise InputError(
            f"run '{path}' is not there; expected a run directory, as `wassermix train` makes, "
            "or a certification log ending in .tsv"
        )
    if not any((path / part).exists() for part in PARTS):
        raise InputError(
            f"'{path}' holds no config.yaml, certify/, attack/, audit/ or drift/; expected a run directory"
        )


def _names(paths: list[Path]) -> list[str]:
    """Last parts of the paths; where two agree, parts above are put in front, then numbers behind."""
    names = [_last(path) for path in paths]
    if len(set(names)) < len(names):
        names = ["/".join(path.resolve().parts[-2:]) for path in paths]
    return [name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]


def _last(path: Path) -> str:
    return path.resolve().stem if path.suffix == ".tsv" else path.resolve().name


def _files(folder: Path) -> list[Path]:
    """Result files that are finished; one that is being written has its parameters beside it."""
    return [file for file in sorted(folder.glob("*.json")) if not file.with_suffix(".running").exists()]


def _unfinished(path: Path) -> Iterator[str]:
    for log in sorted((path / "certify").glob("*.tsv")):
        if not log.with_suffix(".json").exists():
            yield f"Certification '{log.stem}' is unfinished and left out; its command with --resume ends it."


def _config(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = str(error).replace("\n", " ")
        raise InputError(
            f"'{path}' is not valid YAML ({problem}); restore it from the run's recipe"
        ) from error
    return _named_values(value, f"'{path}'")


def _metrics(path: Path) -> list[Mapping[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last newline is half a line
    return [_line(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def _line(line: str, path: Path, number: int) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"'{path}', line {number} is not valid JSON ({error}); cut the file back to its last whole line"
        ) from error
    return _named_values(value, f"'{path}', line {number}")


def _named_values(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where} holds a {type(value).__name__}; expected named values")
    return value


def _flat(line: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested numbers under dotted names; what is not a finite number is left out."""
    flat: dict[str, float] = {}
    for key, value in line.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
            flat[f"{prefix}{key}"] = float(value)
    return flat


def _notes(
    config: Mapping[str, Any],
    certified: tuple[CertifiedSet, ...],
    attacked: tuple[Attacked, ...],
    audited: Sequence[Audited],
) -> tuple[str, ...]:
    """Each note of the data set once, wherever a result carries it."""
    data = config.get("data")
    holders: list[Mapping[str, Any]] = [config, data if isinstance(data, Mapping) else {}]
    holders += [one.result.about for one in certified] + [one.result.parameters for one in attacked]
    holders += [one.result.about for one in audited]
    notes = (holder.get("note") for holder in holders)
    return tuple(dict.fromkeys(note for note in notes if isinstance(note, str) and note))
