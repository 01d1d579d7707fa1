"""Checking a bundle: is every file what the manifest says, and is none missing or added?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.files import read_json
from wassermix.evidence.manifest import FORMAT, MANIFEST, hashes_of

__all__ = ["BundleCheck", "check_bundle", "is_bundle", "read_manifest"]


@dataclass(frozen=True)
class BundleCheck:
    """How a bundle fared: one sentence for each file that is not as it was."""

    folder: Path
    files: int
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every file is what the manifest says."""
        return not self.problems


def is_bundle(path: Path) -> bool:
    """Whether ``path`` is a folder that :func:`write_evidence` made."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a bundle's manifest says."""
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"'{folder / MANIFEST}' is no manifest of the format {FORMAT}")
    return manifest


def check_bundle(folder: Path) -> BundleCheck:
    """Hash every file again and compare with the manifest."""
    manifest = read_manifest(folder)
    said, found = manifest.get("files"), hashes_of(folder)
    if not isinstance(said, dict):
        raise InputError(f"'{folder / MANIFEST}' lists no files; it is damaged")
    problems = [f"{name} is missing" for name in said if name not in found]
    problems += [f"{name} was added" for name in found if name not in said]
    problems += [f"{name} was changed" for name in said if name in found and said[name] != found[name]]
    return BundleCheck(folder, len(said), tuple(sorted(problems)))
