"""How functions are compiled for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["EXACT", "FAST", "compiled"]

# Sums may be reordered and products fused; infinities, NaN and denormals keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# For code that rounds by adding and subtracting a constant, which "reassoc" would cancel.
EXACT = {"contract"}


def compiled(flags: set[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``njit`` without the GIL, cached on disk where some folder can be written."""

    def compile_(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(nogil=True, cache=True, fastmath=flags)(function)
        except RuntimeError:  # no folder for the cache
            return njit(nogil=True, fastmath=flags)(function)

    return compile_
