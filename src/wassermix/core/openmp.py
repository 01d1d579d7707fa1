"""How long idle threads of OpenMP keep a core busy in case there is more work."""

from __future__ import annotations

import os

__all__ = ["SPINS", "let_idle_threads_sleep"]

SPINS = "GOMP_SPINCOUNT"
"""GNU OpenMP's name for the number of looks that a thread takes before it sleeps."""

A_MOMENT = "10000"  # a tenth of a millisecond or so


def let_idle_threads_sleep() -> None:
    """Let PyTorch's idle threads sleep after a moment, unless the user's environment says otherwise.

    By default they wait some milliseconds, awake, after each operation, and our compiled kernels, which run
    in threads of their own, find the other cores taken. It has an effect only before torch is imported, and
    on the whole process, so the command line calls this and the library does not.
    """
    os.environ.setdefault(SPINS, A_MOMENT)
