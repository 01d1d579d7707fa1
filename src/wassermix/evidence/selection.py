"""Which results of a run belong into a bundle: those of its own model, on the samples it speaks of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from wassermix.core.files import read_json

__all__ = ["left_out", "remove_results"]

FOLDERS = ("certify", "attack", "audit", "audit/simplex", "drift")
SUFFIXES = (".json", ".tsv", ".npz", ".svg", ".jsonl", ".ask.csv")
"""How the files of one result end."""


def left_out(run: Path, about: Mapping[str, Any], *, models: Collection[str | None] = ()) -> dict[str, str]:
    """The results of ``run`` that a bundle leaves out: ``{"certify/NAME": why}``.

    Those of another model, of other data or another split than ``about`` says, and unfinished ones.
    ``models`` are the fingerprints of the run's weights; a drift check tells its model by that alone.
    """
    found = {}
    for folder in FOLDERS:
        for name in _names(run / folder):
            why = _reason(run / folder / name, about, models, new_data=folder == "drift")
            if why:
                found[f"{folder}/{name}"] = why
    return found


def remove_results(run: Path, names: Collection[str]) -> None:
    """Remove all files of the results ``FOLDER/NAME`` below ``run``."""
    for name in names:
        for suffix in SUFFIXES:
            (run / f"{name}{suffix}").unlink(missing_ok=True)


def _names(folder: Path) -> Iterator[str]:
    """The results of a folder, finished or not; what only accompanies results has neither .json nor .tsv."""
    files = [path for path in folder.glob("*") if path.suffix in (".json", ".tsv") and path.is_file()]
    yield from sorted({path.stem for path in files if not path.name.startswith(".")})


def _reason(result: Path, about: Mapping[str, Any], models: Collection[str | None], *, new_data: bool) -> str:
    """Why a result stays out, in a few words; empty where it belongs."""
    record, running = (result.with_name(f"{result.name}{end}") for end in (".json", ".running"))
    if running.exists() or not record.exists():
        return "not finished"
    told = read_json(record)
    if not isinstance(told, dict):
        return ""  # who reads it as a result says what is wrong with it
    if told.get("model_file"):
        return f"of the model {told['model_file']}"
    if new_data:
        foreign = bool(models) and told.get("model", about.get("model")) not in models
        return "of another model" if foreign else ""
    for key in ("data", "split"):
        if told.get(key, about.get(key)) != about.get(key):
            return f"of the {key} {told[key]}"
    return ""
