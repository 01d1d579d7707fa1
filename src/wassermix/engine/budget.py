"""How long a training lasts: so many epochs, updates, or forward+backward passes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wassermix.engine.settings import Config

__all__ = ["Budget", "make_budget"]


@dataclass(frozen=True)
class Budget:
    """An amount of ``unit`` ("updates" or "passes") that a training may spend."""

    unit: str
    amount: float

    def share(self, *, updates: int, passes: float, beforehand: float = 0.0) -> float:
        """The share of the training that is done, 0 to 1: of what is left after the passes ``beforehand``."""
        if self.unit == "updates":
            return min(updates / self.amount, 1.0)
        return min((passes - beforehand) / (self.amount - beforehand), 1.0)


def make_budget(config: Config, samples_per_epoch: int, world: int = 1) -> Budget:
    """The budget a config asks for: ``budget`` (passes) before ``updates`` before ``epochs``."""
    if config.budget is not None:
        return Budget("passes", float(config.budget.removeprefix("passes:")))
    whole, rest = divmod(math.ceil(samples_per_epoch / world), config.batch_size)
    per_epoch = whole * _chunks(config.batch_size, config) + (_chunks(rest, config) if rest else 0)
    return Budget("updates", config.updates or (config.epochs or 1) * per_epoch)


def _chunks(samples: int, config: Config) -> int:
    """Updates that one batch gives: ``updates_per_batch``, or fewer where it is too small for that."""
    return math.ceil(samples / math.ceil(samples / config.updates_per_batch))
