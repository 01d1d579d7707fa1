"""How functions are compiled for the CPU, and whether they can be."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

__all__ = ["EXACT", "FAST", "available", "compiled", "in_threads"]

# Sums may be reordered and products fused; infinities, NaN and denormals keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# For code that rounds by adding and subtracting a constant, which "reassoc" would cancel.
EXACT = {"contract"}

WORTH_A_THREAD = 2**21  # operations: a millisecond of work or more, against 0.1 ms to start threads


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


def in_threads(run: Callable[[slice], None], count: int, *, operations: int, shares: int = 4) -> None:
    """Call ``run`` on shares of ``count`` pieces of work of so many ``operations``, in threads if it pays.

    As many threads as PyTorch uses, the caller's among them; ``run`` must leave the GIL, as what
    :func:`compiled` makes does. Each thread has so many ``shares``: one where pieces take equally long.
    """
    import torch

    threads = min(torch.get_num_threads(), count, 1 + operations // WORTH_A_THREAD)
    if threads <= 1:
        run(slice(0, count))
        return
    bounds = torch.linspace(0, count, min(count, shares * threads) + 1).long().tolist()
    waiting = iter([slice(start, stop) for start, stop in pairwise(bounds)])

    def work() -> None:
        for rows in waiting:  # the threads share it: each takes what is next
            run(rows)

    # The pool lives only here: one that outlived a fork would leave the child waiting for threads that it
    # does not have.
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work) for _ in range(threads - 1)]
        work()
        for other in others:
            other.result()
