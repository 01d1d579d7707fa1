"""A lock on an output: a second command is refused with a sentence that names the first."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError

__all__ = ["locked"]


@contextmanager
def locked(path: Path, what: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; refuse where another living process holds it.

    With ``wait`` it is refused only after so many seconds, for work that others are done with soon.

    The file names process, machine and command. A lock whose process on this machine is gone (killed) is
    stale and is taken over, and so is one of this very SLURM job before it was requeued, whatever machine it
    ran on; any other lock of another machine can only be removed by hand, and the error says so.
    """
    _take_within(path, what, wait)
    try:
        yield
    finally:
        if _owner(path).get("token") == _token():
            path.unlink(missing_ok=True)


def _take_within(path: Path, what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return _take(path, what)
        except InputError:
            if time.monotonic() >= end:
                raise
            time.sleep(PAUSE)


PAUSE = 0.05
"""Seconds between two looks at a lock that is waited for."""
NAMELESS = 5.0
"""Seconds after which a lock that names no owner is stale."""


def _take(path: Path, what: str) -> None:
    mine = {"token": _token(), "pid": os.getpid(), "host": socket.gethostname(), "command": _command()}
    mine |= {"job": _scheduled()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    for _ in range(2):  # a second try, after a stale lock was removed
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            _remove_stale(path, _refuse_if_alive(path, what))
        except OSError as error:
            raise _unwritable(path, error) from error
        else:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(mine, file)
            return
    raise InputError(f"{what} was taken by another command just now; wait for it, or choose another output")


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write '{path}': {error.strerror}; choose another output")


def _remove_stale(path: Path, owner: dict[str, Any]) -> None:
    """Remove the lock that was found stale, and no other.

    Two commands may find it stale at once, and the slower one must not remove the lock that the faster one
    has taken since: it is set aside, looked at, and given back where its owner is another.
    """
    aside = path.with_name(f"{path.name}.{_token()}.stale")
    if not _is_of(path, owner):
        return
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return  # the other was faster, and is done already
    try:
        if not _is_of(aside, owner):
            _give_back(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _give_back(aside: Path, path: Path) -> None:
    """Put a living lock back into its place; one that was taken there in between is left alone."""
    try:
        os.link(aside, path)  # unlike a rename, it never replaces
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.rename(aside, path)


def _is_of(path: Path, owner: dict[str, Any]) -> bool:
    """Whether a stale lock is still this owner's; one without a name is young where it is another's."""
    return _owner(path) == owner and (bool(owner) or _age(path) > NAMELESS)


def _refuse_if_alive(path: Path, what: str) -> dict[str, Any]:
    """What a stale lock says of its owner; one whose owner may be alive is refused."""
    owner = _owner(path)
    here = owner.get("host") == socket.gethostname()
    if (here and not _alive(owner)) or _requeued(owner):
        return owner
    if not owner and _age(path) > NAMELESS:  # killed before it could write its name
        return owner
    who = f"process {owner.get('pid')} ({owner.get('command')})" if owner else "another process"
    where = "" if here or not owner else f" on {owner.get('host')}; if it is gone, delete '{path}'"
    raise InputError(f"{what} is being written by {who}{where}; wait for it, or choose another output")


def _age(path: Path) -> float:
    """Seconds since a lock was written; infinite where its owner has left in between, so that it is free."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _owner(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _alive(owner: dict[str, Any]) -> bool:
    """Whether the process that wrote the lock still runs, and is not another one with its number."""
    pid, token = int(owner.get("pid", 0)), str(owner.get("token", ""))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return token == f"{pid}-{_started(pid)}"


def _requeued(owner: dict[str, Any]) -> bool:
    """Whether the lock is of this process's own job, in a run of it that its scheduler has ended since."""
    now, before = _scheduled(), owner.get("job")
    return now is not None and isinstance(before, list) and before[0] == now[0] and before[1] != now[1]


def _scheduled() -> list[str] | None:
    """SLURM's number of this job and how often it was restarted; None outside SLURM."""
    job = os.environ.get("SLURM_JOB_ID")
    return None if not job else [job, os.environ.get("SLURM_RESTART_COUNT", "0")]


def _token() -> str:
    return f"{os.getpid()}-{_started(os.getpid())}"


def _started(pid: int) -> str:
    """When a process began, in the kernel's own ticks; empty where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def _command() -> str:
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200] or "python"
