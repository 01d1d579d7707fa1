"""What commands show while they work: progress bars and tables on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from wassermix.core.whole import Whole

__all__ = ["beside_results", "console", "counted", "part_of", "say", "training"]

console = Console()
"""Where results are printed; progress goes to the standard error stream, so that results can be piped."""


def say(sentence: str) -> None:
    """Print one line, as long as it is: paths and commands can be copied from it."""
    console.print(sentence, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def beside_results() -> Iterator[None]:
    """Inside, tables and sentences go to the standard error stream: the results are told in another way.

    So does what a model of the user's own prints.
    """
    before, console.stderr = console.stderr, True
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        console.stderr = before


@contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts, called as ``progress(done, total)``; it appears with the first call."""
    with _bar(MofNCompleteColumn()) as bar:
        task = bar.add_task(title, total=None, whole="")

        def progress(done: int, total: int) -> None:
            bar.start()
            bar.update(task, completed=done, total=total, whole=_of_the_whole(done / max(total, 1)))
            if done >= total:
                bar.stop()  # leaves the terminal to the next one

        yield progress


@contextmanager
def training(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar for a training, called as ``progress(share done, line of numbers)``."""
    with _bar(TextColumn("{task.percentage:>3.0f}%  {task.fields[line]}", markup=False)) as bar:
        task = bar.add_task(title, total=1.0, line="", whole="")

        def progress(share: float, line: str) -> None:
            bar.start()
            bar.update(task, completed=share, line=line, whole=_of_the_whole(share))

        yield progress


@contextmanager
def part_of(whole: Whole) -> Iterator[None]:
    """The next part of a command that has several; bars inside show how long the whole command will take."""
    _wholes.append(whole)
    try:
        with whole.part():
            yield
    finally:
        _wholes.pop()


_wholes: list[Whole] = []
"""The command whose part is being done; empty for commands that are one piece."""


def _of_the_whole(share: float) -> str:
    """``part 3 of 15, 2:40 left in all``, told by the share of the current part that is done."""
    if not _wholes:
        return ""
    whole = _wholes[-1]
    whole.at(share)
    left = whole.seconds_left
    when = "" if left is None else f", {int(left) // 60}:{int(left) % 60:02d} left in all"
    return f"part {min(whole.number + 1, len(whole.parts))} of {len(whole.parts)}{when}"


@contextmanager
def _bar(numbers: ProgressColumn) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), numbers, TimeElapsedColumn())
    of_part = (TextColumn("left"), TimeRemainingColumn())
    of_whole = (TextColumn("{task.fields[whole]}", markup=False),)
    bar = Progress(*columns, *(of_whole if _wholes else of_part), console=Console(stderr=True))
    try:
        yield bar
    finally:
        if bar.live.is_started:  # else there is nothing to leave, not even an empty line
            bar.stop()
