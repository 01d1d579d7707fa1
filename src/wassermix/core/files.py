"""Files that survive a kill: written beside and renamed, or appended line by line and cut back."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError

__all__ = ["append_line", "cut_back", "read_json", "write_beside", "write_json", "write_text"]


def write_beside(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file beside ``path``, then rename it over: readers never see half a file.

    The file gets the permissions of any new file, whatever ``write`` gives it.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.touch()
        usual = beside.stat().st_mode & 0o777
        write(beside)
        beside.chmod(usual)  # some writers replace the file by one that only its owner can read
        os.replace(beside, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically."""
    write_beside(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file; one that is missing, closed or broken is an :class:`InputError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"'{path}' does not exist") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"'{path}' cannot be read: {why}; make it readable, or delete it") from error
    except ValueError as error:  # broken JSON, or bytes that are no text
        raise InputError(f"'{path}' is not valid JSON ({error}); delete it and run again") from error


def append_line(path: Path, line: str) -> None:
    """Append one line and push it to the disk before returning."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _unwritable(path, error) from error


def cut_back(path: Path, keep: Callable[[str], bool] = lambda line: True) -> list[str]:
    """Drop a half-written last line and all lines that ``keep`` refuses; return what stays."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text.split("\n")[:-1]  # what follows the last newline is half a line
    kept = [line for line in whole if keep(line)]
    if _joined(kept) != text:
        write_text(path, _joined(kept))
    return kept


def _unwritable(path: Path, error: OSError) -> InputError:
    why = error.strerror or str(error)
    return InputError(f"cannot write '{path}': {why}; choose an output folder that is writable and has space")


def _joined(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)
