"""Merging: the shards of a certification, each made by a command of its own, as the one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wassermix.certify.result import Certificates, digest
from wassermix.certify.rows import Certificate
from wassermix.certify.settings import CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.core.fingerprint import selection_fingerprint
from wassermix.core.job import SHARDS, UNCOMPARED, Job
from wassermix.core.shard import Shard

__all__ = ["find_shards", "merge_shards"]

MACHINE = ("backend", "batch_size", "layout")
"""What each part may have chosen for its own machine; it changes no noise."""


@dataclass(frozen=True)
class _Part:
    """One shard's file: which part it is, its certificates, and the parameters of the whole."""

    path: Path
    shard: Shard
    found: Certificates
    whole: Mapping[str, Any]


def find_shards(folder: Path, name: str | None = None) -> str:
    """The name of the result whose shards lie in ``folder``; to be given where there are several."""
    names = sorted(path.name.removesuffix(SHARDS) for path in folder.glob(f"*{SHARDS}") if path.is_dir())
    if not names:
        raise InputError(f"'{folder}' holds no shards; `wassermix certify RUN --shard 1/8` makes the first")
    if name is None and len(names) > 1:
        raise InputError(f"'{folder}' holds shards of {', '.join(names)}; say which, as in --name {names[0]}")
    if name is not None and name not in names:
        raise InputError(f"'{folder}' holds no shards of '{name}'; it has those of {', '.join(names)}")
    return name or names[0]


def merge_shards(folder: Path, name: str, *, overwrite: bool = False) -> Certificates:
    """Join ``FOLDER/NAME.shards/*`` into ``FOLDER/NAME.tsv`` and ``.json``, as one process writes them.

    Neither model nor data are needed. Refused: a shard that is missing, unfinished, damaged or there twice,
    and shards with different settings, models or images. The shards stay where they are.
    """
    parts = _complete(_parts(folder / f"{name}{SHARDS}"))
    whole = _agreed(parts)
    rows = _interleaved([list(part.found) for part in parts])
    if whole.get("selection") != selection_fingerprint([row.index for row in rows]):
        raise InputError(
            f"the shards in '{parts[0].path.parent}' do not add up to the images that were selected; "
            "certify them again with --overwrite"
        )
    merged = Certificates.of(rows, CertifySettings.from_dict(whole), whole)
    job = Job(folder, name, whole, files=(".json", ".tsv"), log=".tsv")
    if job.path(".json").exists() and not overwrite:
        raise InputError(f"'{job.path('.json')}' exists; --overwrite replaces it")
    with job.begin(overwrite=overwrite):
        job.finish(merged.writers())
    return merged


def _parts(folder: Path) -> list[_Part]:
    """The finished shards of a folder; an unfinished one is refused."""
    running = sorted(folder.glob("*.running"))
    if running:
        raise InputError(
            f"'{running[0].with_suffix('.tsv')}' is not finished; its certify command with --resume ends it"
        )
    return [_part(path) for path in sorted(folder.glob("*.json"))]


def _part(path: Path) -> _Part:
    record = read_json(path)
    told: Any = record.get("shard") if isinstance(record, dict) else None
    try:
        shard, whole = Shard(told["number"], told["of"]), dict(told["whole"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"'{path}' is no shard of a certification; remove it from there") from error
    found = Certificates.read(path)
    if record.get("digest") != digest(record, found):
        raise InputError(f"'{path}' or its .tsv was damaged or changed; copy both again, or certify it again")
    return _Part(path, shard, found, whole)


def _complete(parts: Sequence[_Part]) -> list[_Part]:
    """The parts in order, each there once."""
    by_number: dict[int, _Part] = {}
    for part in parts:
        first = parts[0]
        if part.shard.of != first.shard.of:
            raise InputError(
                f"'{part.path}' is shard {part.shard}, '{first.path}' is shard {first.shard}: parts of "
                "different divisions cannot be joined; delete those of one"
            )
        if part.shard.number in by_number:
            twice = by_number[part.shard.number]
            raise InputError(
                f"shard {part.shard} is there twice, as '{twice.path}' and '{part.path}'; delete one of them"
            )
        by_number[part.shard.number] = part
    of = parts[0].shard.of if parts else 0
    missing = [str(Shard(number, of)) for number in range(1, of + 1) if number not in by_number]
    if missing or not parts:
        lacking = f"shard {', '.join(missing)}" if missing else "every shard"
        raise InputError(f"{lacking} is missing; the same certify command with --shard makes it")
    return [by_number[number] for number in sorted(by_number)]


def _agreed(parts: Sequence[_Part]) -> dict[str, Any]:
    """The parameters of the whole, on which all parts must agree."""
    first = parts[0]
    for part in parts[1:]:
        for key in sorted({*first.whole, *part.whole} - {*UNCOMPARED, *MACHINE}):
            if part.whole.get(key) != first.whole.get(key):
                raise InputError(
                    f"'{part.path}' was made with {key} {part.whole.get(key)!r}, '{first.path}' with "
                    f"{first.whole.get(key)!r}; shards of one result must share all settings: certify one "
                    "of them again with --overwrite"
                )
    whole = {"version": first.found.about.get("version"), **first.whole}
    if any(part.whole.get(key) != first.whole.get(key) for part in parts for key in MACHINE):
        unlike = CertifySettings(sigma=1.0).as_dict()  # backend "auto": no single one was taken
        whole = {key: unlike.get(key, value) if key in MACHINE else value for key, value in whole.items()}
        whole.pop("layout", None)
    return whole


def _interleaved(parts: Sequence[Sequence[Certificate]]) -> list[Certificate]:
    """Row j of part i (from 0) is row ``i + j * len(parts)`` of the whole."""
    total = sum(map(len, parts))
    return [
        parts[position % len(parts)][position // len(parts)]
        for position in range(total)
        if position // len(parts) < len(parts[position % len(parts)])
    ]
