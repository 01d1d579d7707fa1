"""Where data is looked for: $WASSERMIX_DATA, the cache, and where Debian's dataset packages put theirs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from wassermix.core.cache import cache_folder

__all__ = ["cache_folder", "data_folders", "first_existing"]

SYSTEM = Path("/usr/share/datasets")
"""Where a system package such as Debian's dataset-fashion-mnist installs its files."""


def data_folders(root: Path | None = None) -> list[Path]:
    """The folders to search, in order: ``root`` alone if given, else shared, cache, system."""
    if root is not None:
        return [Path(root)]
    shared = os.environ.get("WASSERMIX_DATA")
    return ([Path(shared).expanduser()] if shared else []) + [cache_folder(), SYSTEM]


def first_existing(folders: Iterable[Path], names: Iterable[str]) -> Path | None:
    """The first of ``names`` that exists in the first of ``folders`` that has one."""
    names = list(names)
    candidates = (folder / name for folder in folders for name in names)
    return next((path for path in candidates if path.exists()), None)
