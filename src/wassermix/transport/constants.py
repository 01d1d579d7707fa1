"""Numbers that the compiled solver and the one in torch share.

Numba's cache looks at the file of a function only: after a change here, touch ``kernels.py`` too.
"""

from __future__ import annotations

__all__ = ["ABSORB", "FINE", "FRESH_STARTS", "LOWEST", "MEMORY"]

FINE = 5e-6
"""Below this tolerance the rounding of a float32 kernel would show."""
ABSORB = 25.0
"""How far ``g`` may move, in units of entropy, before the kernel is built again."""
LOWEST = -60.0
"""Smaller exponents only make denormals, which CPUs are many times slower at."""
MEMORY = 6
"""Points that Anderson acceleration mixes."""
FRESH_STARTS = 6
"""How often a solve may go on after its recomputed error was above the tolerance."""
