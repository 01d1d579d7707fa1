"""Everything that drift checks and monitors have left in a folder, for pages and tables."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.drift.result import DriftResult, read_result
from wassermix.drift.stream import BatchLine, restored_lines

__all__ = ["Frames", "Kept", "Watched", "read_folder"]


class Frames(NamedTuple):
    """Pictures of some samples on the way from the reference."""

    pixels: NDArray[np.uint8]
    """``(samples, times, C, H, W)``."""
    t: NDArray[np.float32]
    """``(times,)``, from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Kept:
    """A check, and the pictures along the way where the data are images."""

    name: str
    result: DriftResult
    frames: Frames | None


@dataclass(frozen=True, eq=False)
class Watched:
    """A stream: one line for each batch."""

    name: str
    lines: tuple[BatchLine, ...]


def read_folder(folder: Path) -> tuple[tuple[Kept, ...], tuple[Watched, ...]]:
    """The finished checks and the streams of a folder, by name; none where there is no folder."""
    checks, streams = [], []
    for path in sorted(folder.glob("*.json")):
        if "last" in read_json(path):
            streams.append(Watched(path.stem, _lines(path.with_suffix(".jsonl"))))
        else:
            checks.append(Kept(path.stem, read_result(path), _frames(path.with_suffix(".npz"))))
    return tuple(checks), tuple(streams)


def _lines(path: Path) -> tuple[BatchLine, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"'{path}' is missing, the batches of the stream; run drift again with --overwrite"
        ) from error
    except ValueError as error:  # bytes that are no text
        raise InputError(f"'{path}' is damaged ({error}); run drift again with --overwrite") from error
    return tuple(restored_lines(text.split("\n")[:-1], path))


def _frames(path: Path) -> Frames | None:
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return Frames(stored["frames"], stored["t"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"'{path}' is damaged ({error}); run drift again with --overwrite") from error
