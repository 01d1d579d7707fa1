"""A shard: one of several equal parts of an evaluation, each made by a command of its own (a job array)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from wassermix.core.errors import InputError

__all__ = ["Shard"]

T = TypeVar("T")
_FORM = re.compile(r"(\d+)/(\d+)")


@dataclass(frozen=True)
class Shard:
    """Part ``number`` (from 1) of ``of`` parts: every ``of``-th item, beginning at item ``number - 1``."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InputError(
                f"--shard is '{self}'; expected I/N with I from 1 to N, such as 1/{max(self.of, 1)} "
                "(an index that counts from 0 needs 1 added)"
            )

    @staticmethod
    def parse(text: str) -> Shard:
        """``"2/8"`` is the second of eight."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise InputError(f"--shard is '{text}'; expected I/N, such as 2/8 for the second of eight parts")
        return Shard(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def file_name(self) -> str:
        """``2-of-8``: what its files are called."""
        return f"{self.number}-of-{self.of}"

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This part's items; at least one, or the division is refused."""
        if self.of > len(items):
            raise InputError(
                f"--shard is '{self}', but there are {len(items)} images; use {len(items)} parts or fewer"
            )
        return items[self.number - 1 :: self.of]
