"""A monitor over time: one line for each batch, an alarm when the loss passes its threshold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.core.errors import InputError
from wassermix.core.samples import Samples
from wassermix.drift.alarm import MOST, Alarm, Wealth
from wassermix.drift.check import estimate_only
from wassermix.drift.prepared import Chosen, Prepared

__all__ = ["BatchLine", "StreamMonitor", "cut", "restored_lines"]


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
        """A line back from its JSON; earlier versions wrote a very large wealth as infinity."""
        try:
            told = {"stakes": tuple(record["stakes"]), "wealth": min(record["wealth"], MOST)}
            return cls(**{**record, **told})
        except (TypeError, KeyError) as error:
            raise InputError(
                f"a line of the monitor's file is not its own ({error}); use --overwrite"
            ) from error


def restored_lines(lines: Sequence[str], path: Path) -> list[BatchLine]:
    """The lines of a monitor's file; one that is damaged is an :class:`InputError` that names it."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(BatchLine.restored(json.loads(line)))
        except json.JSONDecodeError as error:
            raise InputError(
                f"'{path}', line {number} is not valid JSON ({error}); run drift again with --overwrite"
            ) from error
    return found


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


def cut(samples: Samples, every: int, *, start: int = 0) -> Iterator[tuple[int, Samples]]:
    """Batches of about ``every`` samples in their order, each with its first row; none below half of it.

    Rows before ``start`` were seen already. Where the samples have grown since, ``start`` lies inside a
    batch: its rest is a batch of its own, or, with fewer than half of ``every``, waits for the rows after it.
    """
    parts = max(1, round(len(samples) / every))
    edges: Sequence[int] = [part * len(samples) // parts for part in range(parts + 1)]
    first = start
    for last in (edge for edge in edges if edge > start):
        if first in edges or 2 * (last - first) >= every:
            yield first, Chosen(samples, list(range(first, last)))
            first = last
