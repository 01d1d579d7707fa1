"""What work will cost: passes of the network, and the minutes that they take at the pace measured here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cost"]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Passes of the network, and how many of them a second holds."""

    passes: int
    passes_per_second: float

    @property
    def minutes(self) -> float:
        """Minutes on this process; what is not a pass (solving transport problems) is not counted."""
        return self.passes / self.passes_per_second / 60
