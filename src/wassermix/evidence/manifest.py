"""The manifest of a bundle: what every file was when the bundle was made, and what made it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wassermix import __version__

__all__ = ["FORMAT", "MANIFEST", "file_hash", "hashes_of", "manifest_of"]

FORMAT = "wassermix-evidence/1"
MANIFEST = "MANIFEST.json"
DEPENDENCIES = ("torch", "numpy", "scipy", "numba", "POT", "safetensors")


def manifest_of(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of all files below ``folder``, with the versions that made them."""
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "wassermix": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "dependencies": {name: _version(name) for name in DEPENDENCIES},
        **about,
        "files": hashes_of(folder),
    }


def hashes_of(folder: Path) -> dict[str, dict[str, Any]]:
    """``{path below folder: {sha256, bytes}}`` of every file but the manifest itself."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {
        path.relative_to(folder).as_posix(): {"sha256": file_hash(path), "bytes": path.stat().st_size}
        for path in files
    }


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
