"""Downloads that can be cut at any moment: resumed or restarted, checked, then renamed into place."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from wassermix.core.errors import InputError
from wassermix.data.locate import data_folders

__all__ = ["Algorithm", "Progress", "Remote", "Search", "fetch_all"]

Progress = Callable[[int, int], None]
Algorithm = Literal["sha256", "md5"]
CHUNK = 1 << 18
ATTEMPTS = 3
TIMEOUT = 30.0
LARGEST = 2**30  # bytes: four times the largest file that is fetched here
LONGEST = 2 * 3600.0  # seconds for one file: a server that sends a byte at a time must not block a training


@dataclass(frozen=True)
class Remote:
    """A file to fetch: its name here, the addresses that offer it, and the digest that it must have."""

    name: str
    urls: tuple[str, ...]
    algorithm: Algorithm
    digest: str


@dataclass(frozen=True)
class Search:
    """Where to look for data, and whether and how to fetch what is not there."""

    root: Path | None = None
    download: bool = True
    progress: Progress | None = None

    @property
    def folders(self) -> list[Path]:
        """The folders to search; downloads go into the last."""
        return data_folders(self.root)

    def fetch(self, data: str, files: list[Remote], below: str = "") -> Path:
        """Fetch ``files`` into the folder ``below`` the last of the folders, and return that."""
        target = self.folders[-1] / below
        fetch_all(data, files, target, searched=self.folders, allowed=self.download, progress=self.progress)
        return target


class _Refused(Exception):
    """One address did not deliver; ``again`` says whether another attempt may."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def fetch_all(
    data: str,
    files: list[Remote],
    folder: Path,
    *,
    searched: list[Path],
    allowed: bool,
    progress: Progress | None = None,
) -> None:
    """Fetch what ``folder`` lacks of ``files``; when that fails, say which files to put where by hand."""
    try:
        if not allowed:
            raise _Refused("downloading is switched off (download=false)")
        for remote in files:
            _fetch(remote, folder, progress=progress)
    except _Refused as error:
        places = " or ".join(f"'{place}'" for place in searched)
        shared = "$WASSERMIX_DATA" if folder in searched else f"$WASSERMIX_DATA/{folder.name}"
        names = ", ".join(remote.name for remote in files)
        site = files[0].urls[0].rpartition("/")[0]
        raise InputError(
            f"data '{data}' was not found in {places} and could not be downloaded: {error}. "
            f"Fetch {names} from {site}/ and put them into '{folder}' or {shared}"
        ) from error


def _fetch(remote: Remote, folder: Path, *, progress: Progress | None = None) -> Path:
    """Fetch one file into ``folder`` unless it is there; what an earlier attempt left is continued."""
    target, part = folder / remote.name, folder / f".{remote.name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder / ".lock"):
            if not target.exists():
                _complete(remote, part, progress)
                os.replace(part, target)
    except OSError as error:
        raise InputError(f"cannot fetch '{target}': {error.strerror or error}") from error
    return target


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other processes (the ranks of one training) from writing the same file at the same time."""
    with lock.open("w") as handle:
        with contextlib.suppress(ImportError):  # no such locks on some systems; the digest still guards
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)  # let go when the handle closes, however this ends
        yield


def _complete(remote: Remote, part: Path, progress: Progress | None) -> None:
    """Fill ``part`` until its digest is right, trying each address a few times."""
    reasons: list[str] = []
    for url in remote.urls:
        for _ in range(ATTEMPTS):
            try:
                resumed = _transfer(url, part, progress)
            except _Refused as error:
                reasons.append(f"{url}: {error}")
                if error.again:
                    continue
                break
            got = _digest(part, remote.algorithm)
            if got == remote.digest:
                return
            part.unlink()  # never continue a file that is known to be wrong
            reasons.append(f"{url}: its {remote.algorithm} is {got}, expected {remote.digest}")
            if not resumed:
                break
    raise _Refused("; ".join(dict.fromkeys(reasons)))


def _transfer(url: str, part: Path, progress: Progress | None) -> bool:
    """Append what is missing to ``part``; True if something was there before. Short transfers are refused."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            resumes = have > 0 and _starts_at(response, have)
            with part.open("ab" if resumes else "wb") as file:
                _copy(response, file, have if resumes else 0, progress=progress)
            return resumes
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:  # nothing beyond what we have: whole, or another file's rest
            return True
        raise _Refused(f"the server answered {error.code} {error.reason}", again=error.code >= 500) from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        raise _Refused(reason, again=True) from error


def _starts_at(response: http.client.HTTPResponse, position: int) -> bool:
    answer = response.headers.get("Content-Range", "")
    return response.status == 206 and answer.startswith(f"bytes {position}-")


def _copy(
    response: http.client.HTTPResponse, file: IO[bytes], done: int, *, progress: Progress | None
) -> None:
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isascii() and length.isdigit() else 0
    began = time.monotonic()
    while chunk := response.read(CHUNK):
        done += len(chunk)
        if max(done, total) > LARGEST:
            raise _Refused(f"the file is larger than {LARGEST >> 20} MiB, so it is not the one expected")
        if time.monotonic() - began > LONGEST:
            raise _Refused(f"the transfer took longer than {LONGEST / 3600:g} hours")
        file.write(chunk)
        if progress is not None:
            progress(done, total)
    if total and done < total:
        raise _Refused(f"the transfer broke off after {done} of {total} bytes", again=True)


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()
