"""Where data is looked for: $WASSERMIX_DATA, where Debian's dataset packages put theirs, and the cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from wassermix.core.cache import cache_folder

__all__ = ["cache_folder", "data_folders", "first_existing"]

SYSTEM = Path("/usr/share/datasets")
"""Where a system package such as Debian's dataset-fashion-mnist installs its files."""


def data_folders(root: Path | None = None) -> list[Path]:
    """The folders to search, in order: ``root`` alone if given, else shared, system, cache.

    Downloads go into the last one, so that must be a folder of the user's own.
    """
    if root is not None:
        return [Path(root)]
    shared = os.environ.get("WASSERMIX_DATA")
    return ([Path(shared).expanduser()] if shared else []) + [SYSTEM, cache_folder()]


def first_existing(folders: Iterable[Path], names: Iterable[str]) -> Path | None:
    """The first of ``names`` that exists in the first of ``folders`` that has one."""
    names = list(names)
    candidates = (folder / name for folder in folders for name in names)
    return next((path for path in candidates if path.exists()), None)
