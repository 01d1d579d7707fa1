"""How much of a long command is done, and how long the rest will take, from the time of its parts so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

__all__ = ["Whole"]

SKIPPED = 0.2
"""A part that took fewer seconds was done already, and says nothing about those to come."""
EARLY = 0.02
"""Before this share of a part its own pace says too little."""


class Whole:
    """A command that consists of ``parts`` in their order, each called by its sort of work ("training").

    A part to come is expected to take the mean time of the finished ones of its sort; where none of its sort
    is finished, ``weights`` (by sort, 1 where nothing is said) times the time that one unit of weight took.
    """

    def __init__(
        self,
        parts: Sequence[str],
        *,
        weights: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.parts, self.number = tuple(parts), 0
        self._weights, self._clock = dict(weights or {}), clock
        self._taken: dict[str, list[float]] = {}
        self._begun = self._part_begun = clock()
        self._done = 0.0

    @contextmanager
    def part(self) -> Iterator[None]:
        """The next part of the command, inside the block."""
        self._part_begun, self._done = self._clock(), 0.0
        yield
        spent = self._clock() - self._part_begun
        if spent >= SKIPPED:
            self._taken.setdefault(self.parts[self.number], []).append(spent)
        self.number, self._done = self.number + 1, 0.0
        self._part_begun = self._clock()

    def at(self, share: float) -> float:
        """Note how much of the current part is done; the share of the whole command that is done."""
        self._done = min(max(share, 0.0), 1.0)
        return self.share

    @property
    def share(self) -> float:
        """The share of the command's time that has passed; 0 while nothing can be said."""
        spent, left = self._clock() - self._begun, self.seconds_left
        return 0.0 if left is None else 1.0 if spent + left <= 0 else spent / (spent + left)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end as they look now; None while nothing can be said."""
        if self.number >= len(self.parts):
            return 0.0
        current = self._current()
        if current is None:
            return None
        spent = self._clock() - self._part_begun
        ahead = self.parts[self.number + 1 :]
        taken = {**self._means(), self.parts[self.number]: current}
        return max(current - spent, 0.0) + sum(_expected(one, taken, self._weights) for one in ahead)

    def _current(self) -> float | None:
        """How long the current part will have taken."""
        if self._done > EARLY:
            return (self._clock() - self._part_begun) / self._done
        means = self._means()
        return _expected(self.parts[self.number], means, self._weights) if means else None

    def _means(self) -> dict[str, float]:
        return {sort: sum(taken) / len(taken) for sort, taken in self._taken.items()}


def _expected(sort: str, taken: Mapping[str, float], weights: Mapping[str, float]) -> float:
    if sort in taken:
        return taken[sort]
    unit = sum(taken.values()) / sum(weights.get(known, 1.0) for known in taken)
    return unit * weights.get(sort, 1.0)
