"""A monitor over time: one line for each batch, an alarm when the loss passes its threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wassermix.core.errors import InputError
from wassermix.core.samples import Samples
from wassermix.drift.alarm import Alarm, Wealth
from wassermix.drift.check import estimate_only
from wassermix.drift.prepared import Chosen, Prepared

__all__ = ["BatchLine", "StreamMonitor", "cut"]


@dataclass(frozen=True)
class BatchLine:
    """What one batch of a stream showed, and how the alarm stands after it."""

    batch: int
    source: str
    first: int
    last: int
    """Rows ``first .. last - 1`` of the source."""
    estimate: float
    low: float
    high: float
    loss: float
    cost: float
    """Mean cost of the plan, in units of the reference's own."""
    wealth: float
    """Evidence for a loss beyond the threshold; the alarm sounds at ``1 / alpha``."""
    stakes: tuple[float, ...]
    """The state of the bets, from which a resumed monitor goes on."""
    alarm: bool
    """Whether it has sounded, now or before."""

    def record(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def restored(cls, record: dict[str, Any]) -> BatchLine:
        """A line back from its JSON."""
        try:
            return cls(**{**record, "stakes": tuple(record["stakes"])})
        except (TypeError, KeyError) as error:
            raise InputError(
                f"a line of the monitor's file is not its own ({error}); use --overwrite"
            ) from error


class StreamMonitor:
    """Watches batches one after the other; its whole state is the last :class:`BatchLine`."""

    def __init__(
        self, prepared: Prepared, *, tolerated: float, alpha: float, last: BatchLine | None = None
    ) -> None:
        floor = prepared.reference.accuracy - tolerated
        if floor <= 0:
            raise InputError(
                f"the reference's accuracy is {prepared.reference.accuracy:.1%}: it cannot lose "
                f"{100 * tolerated:g} points; give a smaller --alarm"
            )
        self.prepared, self.last = prepared, last
        self.rule = Alarm(min(floor, 1 - 1e-6), alpha)

    def watch(self, batch: Samples, *, source: str = "", first: int = 0) -> BatchLine:
        """Estimate one batch and bet on it."""
        interval, _, blocks = estimate_only(self.prepared, batch)
        before = Wealth() if self.last is None else Wealth(self.last.stakes)
        wealth = self.rule.update(before, interval.estimate)
        ratio = float(np.mean([block.cost for block in blocks])) / max(self.prepared.own_cost, 1e-12)
        self.last = BatchLine(
            batch=0 if self.last is None else self.last.batch + 1,
            source=source,
            first=first,
            last=first + len(batch),
            estimate=interval.estimate,
            low=interval.low,
            high=interval.high,
            loss=self.prepared.reference.accuracy - interval.estimate,
            cost=ratio,
            wealth=wealth.value,
            stakes=wealth.logs,
            alarm=(self.last is not None and self.last.alarm) or self.rule.raised(wealth),
        )
        return self.last


def cut(samples: Samples, every: int) -> Iterator[tuple[int, Samples]]:
    """Batches of about ``every`` samples in their order, each with its first row; none below half of it."""
    parts = max(1, round(len(samples) / every))
    edges: Sequence[int] = [part * len(samples) // parts for part in range(parts + 1)]
    for first, last in pairwise(edges):
        yield first, Chosen(samples, list(range(first, last)))
