"""How functions are compiled for the CPU, and whether they can be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

__all__ = ["EXACT", "FAST", "available", "compiled"]

# Sums may be reordered and products fused; infinities, NaN and denormals keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# For code that rounds by adding and subtracting a constant, which "reassoc" would cancel.
EXACT = {"contract"}


@cache
def available() -> bool:
    """Whether Numba can be imported."""
    return find_spec("numba") is not None


def compiled(flags: set[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``njit`` without the GIL, cached on disk where some folder can be written."""
    from numba import njit

    def compile_(function: Callable[..., Any]) -> Callable[..., Any]:
        # error_model: NumPy's x / 0, for a check that could raise keeps a loop from being vectorised.
        # forceinline: a call that is left is bound to one copy of the helper in the process that compiles
        # and to another in those that load the cache, and the two may round differently.
        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": flags,
            "error_model": "numpy",
            "forceinline": True,
        }
        try:
            made: Callable[..., Any] = njit(cache=True, **options)(function)
        except RuntimeError:  # no folder for the cache
            made = njit(**options)(function)
        return made

    return compile_
