"""From a run directory, or a bare certification log, to the records that a report shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.report.certificates import bare_log, read_certified
from wassermix.report.checking import Fields
from wassermix.report.pictures import read_pictures
from wassermix.report.records import Attacked, Audited, Check, Floats, PairCurve, RunRecord, Triangle

__all__ = ["load_run", "load_runs"]

R = TypeVar("R")


def load_runs(paths: list[Path]) -> list[RunRecord]:
    """Every run in the order given, under names that differ."""
    if not paths:
        raise InputError("no run was given; name at least one run directory or certification log (.tsv)")
    return [load_run(path, name) for path, name in zip(paths, _names(paths))]


def load_run(path: Path, name: str | None = None) -> RunRecord:
    """Read one run directory, or a ``.tsv`` log that stands for a run."""
    name = name or _last(path)
    if path.is_file() and path.suffix == ".tsv":
        return RunRecord(name, path, config={}, metrics=(), certified=(bare_log(path),))
    if not path.is_dir():
        raise InputError(
            f"run '{path}' is not there; expected a run directory, as `wassermix train` makes, "
            "or a certification log ending in .tsv"
        )
    if not any((path / part).exists() for part in ("config.yaml", "certify", "attack", "audit", "drift")):
        raise InputError(
            f"'{path}' holds no config.yaml, certify/, attack/, audit/ or drift/; expected a run directory"
        )
    config, lines = _config(path / "config.yaml"), _metrics(path / "metrics.jsonl")
    return RunRecord(
        name,
        path,
        config=config,
        metrics=tuple(_flat(line) for line in lines),
        certified=_each(path / "certify", read_certified),
        attacked=_each(path / "attack", _attacked),
        audited=_each(path / "audit", _audited),
        triangles=_each(path / "audit" / "simplex", _triangle),
        notes=_notes([config, *_evaluations(path)]),
        warnings=tuple(_unfinished(path)),
        watched=str(lines[-1].get("accuracy_on", "")) if lines else "",
    )


def _names(paths: list[Path]) -> list[str]:
    """Last parts of the paths; where two agree, parts above are put in front, then numbers behind."""
    names = [_last(path) for path in paths]
    if len(set(names)) < len(names):
        names = ["/".join(path.resolve().parts[-2:]) for path in paths]
    return [name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]


def _last(path: Path) -> str:
    return path.resolve().stem if path.suffix == ".tsv" else path.resolve().name


def _each(folder: Path, read: Callable[[Path, Fields], R]) -> tuple[R, ...]:
    return tuple(read(path, Fields(read_json(path), path)) for path in sorted(folder.glob("*.json")))


def _evaluations(path: Path) -> Iterator[Any]:
    for folder in ("certify", "attack", "audit"):
        yield from (read_json(file) for file in sorted((path / folder).glob("*.json")))


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
    return Fields(value, path).values


def _metrics(path: Path) -> list[Mapping[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows the last newline is half a line
    return [_line(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def _line(line: str, path: Path, number: int) -> Mapping[str, Any]:
    try:
        return Fields(json.loads(line), path, f", line {number}").values
    except json.JSONDecodeError as error:
        raise InputError(
            f"'{path}', line {number} is not valid JSON ({error}); cut the file back to its last whole line"
        ) from error


def _flat(line: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested numbers under dotted names; what is not a finite number is left out."""
    flat: dict[str, float] = {}
    for key, value in line.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
            flat[f"{prefix}{key}"] = float(value)
    return flat


def _notes(sources: list[Any]) -> tuple[str, ...]:
    """Each note of the data set once, wherever a file carries it: ``note`` at the top or under ``data``."""
    found: dict[str, None] = {}
    for source in sources:
        data = source.get("data") if isinstance(source, Mapping) else None
        for holder in (source, data):
            if isinstance(holder, Mapping) and isinstance(holder.get("note"), str) and holder["note"]:
                found[holder["note"]] = None
    return tuple(found)


def _attacked(path: Path, fields: Fields) -> Attacked:
    clean, robust = fields.inner("clean"), fields.inner("robust")
    flags = _flags(fields) if fields.values.get("per_image") else {}
    return Attacked(
        name=path.stem,
        parameters=parameters(
            fields.values, ("clean", "robust", "per_image", "checks", "curve", "flip_t", "note")
        ),
        clean=clean.share(int(clean.number("images"))),
        robust=robust.share(int(robust.number("images"))),
        checks=tuple(_checks(fields)),
        index=flags["index"].astype(np.int64) if flags else None,
        label=flags["label"].astype(np.int64) if flags else None,
        clean_correct=flags["clean_correct"] > 0 if flags else None,
        robust_correct=flags["robust_correct"] > 0 if flags else None,
    )


def _flags(fields: Fields) -> dict[str, Floats]:
    rows = fields.inner("per_image")
    length = len(rows.array("index"))
    return {key: rows.array(key, length) for key in ("index", "label", "clean_correct", "robust_correct")}


def _checks(fields: Fields) -> Iterator[Check]:
    if fields.values.get("checks"):
        for item in fields.objects("checks"):
            yield Check(item.text("name"), item.flag("passed"), item.text("message"))


def _audited(path: Path, fields: Fields) -> Audited:
    known = parameters(fields.values, ("pairs", "mean", "note"))
    pairs = tuple(_pair(item, known.get("class_names")) for item in fields.objects("pairs"))
    pictures, times = read_pictures(
        path.with_suffix(".npz"), [_ends(item) for item in fields.objects("pairs")]
    )
    return Audited(path.stem, known, pairs, pictures, times)


def _triangle(path: Path, fields: Fields) -> Triangle:
    known = parameters(fields.values, ("weights", "loss", "kl", "decided", "note"))
    kl, names = fields.array("kl"), known.get("class_names")
    classes = tuple(_class_name(str(int(number)), names) for number in fields.array("classes", 3))
    weights = np.asarray(fields.values.get("weights"), dtype=np.float64)
    if weights.shape != (len(kl), 3):
        raise fields.fail("weights", f"{len(kl)} lists of three numbers")
    return Triangle(path.stem, known, classes, weights, kl)


def _ends(item: Fields) -> tuple[str, str]:
    return item.text("source"), item.text("target")


def _class_name(number: str, names: Any) -> str:
    """The class in words, where the audit tells the words."""
    known = isinstance(names, list) and number.isdigit() and int(number) < len(names)
    return str(names[int(number)]) if known else number


def _pair(item: Fields, names: Any) -> PairCurve:
    t = item.array("t")
    along = {
        key: item.array(key, len(t))
        for key in ("loss", "kl", "accuracy", "as_source", "as_target", "as_other")
    }
    return PairCurve(
        source=_class_name(item.text("source"), names),
        target=_class_name(item.text("target"), names),
        t=t,
        **along,
        total_variation=item.number("total_variation"),
        worst_t=item.optional("worst_t"),
        flip_t=item.optional("flip_t"),
    )


def parameters(values: Mapping[str, Any], results: tuple[str, ...]) -> dict[str, Any]:
    """All fields but the results, nested ``parameters`` lifted to the top."""
    nested = values.get("parameters")
    top = {key: value for key, value in values.items() if key not in (*results, "parameters")}
    return {**top, **nested} if isinstance(nested, Mapping) else top
