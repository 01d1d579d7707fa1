"""One job for every evaluation: begin, resume, overwrite, lock, a log of finished work, atomic files.

An output called ``NAME`` in a folder consists of result files (``NAME.json``, ``NAME.tsv``, ...). While the
work goes on, ``NAME.running`` holds the parameters it was begun with, ``NAME.lock`` names the process, and
a log with one line for each finished piece grows. When all is done the result files are written, each
atomically, and ``NAME.running`` goes last: an output is finished when its first result file is there and
``NAME.running`` is not. Several processes (``torchrun``) append to logs of their own; rank 0 does the rest.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.files import append_line, cut_back, read_json, write_beside, write_json
from wassermix.core.lock import locked
from wassermix.core.shard import Shard

__all__ = [
    "SHARDS",
    "UNCOMPARED",
    "Job",
    "Output",
    "refuse_difference",
    "remove_leftovers",
    "require_plain_name",
]

SHARDS = ".shards"
"""The end of the name of a folder that holds the shards of one result."""
UNCOMPARED = ("version", "seconds", "date")
"""Parameters that may differ between the call that began a job and the one that resumes it."""
ADDED = ("data", "split", "note", "weights", "new", "labelled")
"""What results say of their samples, labels and weights, and files of earlier versions may lack."""


@dataclass(frozen=True)
class Output:
    """Where a result goes, and what happens where one is there already."""

    folder: Path
    name: str | None = None
    """The files' name; None for the one that the settings make."""
    resume: bool = False
    overwrite: bool = False
    shard: Shard | None = None
    """Which part of the work this call does, into files of its own; None for all of it."""
    suffix: str = ""
    """What is put behind a name that the settings make, such as ``-last``."""

    def named(self, name: str) -> str:
        """The files' name; ``name`` and the suffix where none was given."""
        return self.name or f"{name}{self.suffix}"

    def place(self, name: str) -> tuple[Path, str]:
        """Folder and name of the files; ``name`` where none was given. Shards have a folder of their own."""
        whole = self.named(name)
        require_plain_name(whole)
        if self.shard is None:
            return self.folder, whole
        return self.folder / f"{whole}{SHARDS}", self.shard.file_name


@dataclass(frozen=True)
class Job:
    """The files of one output, and the parameters that a resumed call must share.

    ``files`` are the suffixes of the result files; the first decides whether the output is finished and,
    where it ends in ``.json``, tells the parameters of a finished output. ``log`` is the suffix of the log,
    which may be that of a result file that grows line by line.
    """

    folder: Path
    name: str
    parameters: Mapping[str, Any]
    files: tuple[str, ...] = (".json",)
    log: str = ".log"
    rank: int = 0
    world: int = 1
    told_by: Callable[[Any], Mapping[str, Any]] = dict
    """The parameters in the contents of a result's JSON file; by default they lie at its top."""

    def __post_init__(self) -> None:
        require_plain_name(self.name)

    def path(self, suffix: str) -> Path:
        """``folder/NAME + suffix``."""
        return self.folder / f"{self.name}{suffix}"

    @property
    def finished(self) -> bool:
        """Whether the results are all there."""
        return self.path(self.files[0]).exists() and not self._running.exists()

    @contextmanager
    def begin(self, *, resume: bool = False, overwrite: bool = False) -> Iterator[None]:
        """Refuse, take up or replace what exists; hold the lock while the block works.

        Inside, :attr:`finished` tells whether a resumed output was complete already. Ranks above 0 must
        come here after rank 0 has (``together`` from :mod:`wassermix.core.processes` sees to that).
        """
        if resume and overwrite:
            raise InputError("--resume goes on and --overwrite begins anew; give one of them")
        with locked(self.path(".lock"), f"'{self.path(self.files[0])}'") if self.rank == 0 else nullcontext():
            if self.rank == 0:
                self._open(resume=resume, overwrite=overwrite)
            yield

    def lines(self) -> list[str]:
        """The whole lines that all processes have logged so far."""
        return [line for path in (self.path(self.log), *self._parts()) for line in cut_back(path)]

    def own_lines(self) -> list[str]:
        """The whole lines of this process's own log; half a line at its end is cut off."""
        return cut_back(self._own_log)

    def append(self, line: str) -> None:
        """Log one finished piece and push it to the disk."""
        append_line(self._own_log, line)

    def finish(self, writers: Mapping[str, Callable[[Path], object]]) -> None:
        """Write the result files (suffix -> writer), then clear away what only the work needed."""
        for suffix, write in writers.items():
            write_beside(self.path(suffix), write)
        kept = {self.path(suffix) for suffix in self.files}
        for path in (self.path(self.log), *self._parts()):
            if path not in kept:
                path.unlink(missing_ok=True)
        self._running.unlink(missing_ok=True)

    @property
    def _running(self) -> Path:
        return self.path(".running")

    @property
    def _own_log(self) -> Path:
        return self.path(self.log) if self.world == 1 else self.path(f".part{self.rank}")

    def _parts(self) -> list[Path]:
        """The logs of several processes, ``NAME.part0``; not the files of a result called ``NAME.part0``."""
        form = re.compile(rf"{re.escape(self.name)}\.part\d*")  # of a version before: no number
        found = self.folder.glob(f"{glob.escape(self.name)}.part*")
        return sorted(path for path in found if form.fullmatch(path.name))

    def _open(self, *, resume: bool, overwrite: bool) -> None:
        remove_leftovers(self.folder, self.name)
        results = [self.path(suffix) for suffix in self.files]
        work = [self._running, self.path(self.log), *self._parts()]
        existing = [path for path in dict.fromkeys([*results, *work]) if path.exists()]
        if existing and not (resume or overwrite):
            raise InputError(
                f"'{existing[0]}' exists; go on with --resume, begin anew with --overwrite, or give --name"
            )
        if existing and resume:
            self._compare()
        if overwrite:
            for path in existing:
                path.unlink(missing_ok=True)
        if not self.finished:
            write_json(self._running, dict(self.parameters))

    def _compare(self) -> None:
        told = [self._running, *(self.path(suffix) for suffix in self.files if suffix.endswith(".json"))]
        source = next((path for path in told if path.exists()), None)
        if source is None:
            raise InputError(
                f"'{self.path(self.files[0])}' has no parameters beside it and cannot be resumed; "
                "begin anew with --overwrite, or give --name"
            )
        refuse_difference(source, self._told(source), self.parameters)

    def _told(self, source: Path) -> Mapping[str, Any]:
        """The parameters in a file of this output."""
        found = read_json(source)
        if not isinstance(found, Mapping):
            raise _untold(source)
        try:
            return found if source == self._running else self.told_by(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _untold(source) from error


def _untold(path: Path) -> InputError:
    return InputError(f"'{path}' holds no parameters; begin anew with --overwrite, or give --name")


def refuse_difference(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with other parameters than a file was begun with, naming the first that differs."""
    wanted = json.loads(json.dumps(dict(now)))
    for key, value in wanted.items():
        if key in UNCOMPARED or (key in ADDED and key not in before):
            continue
        if before.get(key) != value:
            raise InputError(
                f"'{path}' was made with {key} {before.get(key)!r}, now it is {value!r}; resume with the "
                "same settings, begin anew with --overwrite, or give --name"
            )


def require_plain_name(name: str) -> None:
    """Refuse a name that is no plain file name, such as one that leads out of its folder."""
    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"the name '{name}' cannot be a file's; expected a plain word without '/'")


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove the temporary files that a killed process left behind while it wrote ``NAME...``."""
    for path in folder.glob(f".{glob.escape(name)}.*.part" if name else ".*.part"):
        found = re.search(r"\.(\d+)\.part$", path.name)
        if found and not _exists(int(found.group(1))):
            path.unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
