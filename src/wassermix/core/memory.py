"""Keeping freed memory in the process: every batch frees and asks for the same large blocks again."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys

__all__ = ["keep_freed_memory"]

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # the numbers that glibc's mallopt gives to these settings


def keep_freed_memory() -> bool:
    """Tell glibc not to hand freed blocks back to the system; True where that was possible.

    By default each large activation is mapped anew in every step, and filling fresh pages costs a good part
    of the time of a small network. The setting holds for the whole process, so the command line calls this
    and the library does not.
    """
    name = ctypes.util.find_library("c") if sys.platform == "linux" else None
    mallopt = getattr(ctypes.CDLL(name), "mallopt", None) if name else None
    if mallopt is None:  # not glibc
        return False
    return bool(mallopt(TRIM_THRESHOLD, 2**31 - 1) and mallopt(MMAP_THRESHOLD, 2**30))
