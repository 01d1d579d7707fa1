"""The folder for what can be made again: downloads, fitted embeddings, measured choices."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/wassermix``, or ``~/.cache/wassermix``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wassermix"
