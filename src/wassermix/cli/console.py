"""What commands show while they work: progress bars and tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

__all__ = ["console", "counted", "say", "training"]

console = Console()
"""Where results are printed; progress goes to the standard error stream, so that results can be piped."""


def say(sentence: str) -> None:
    """Print one line, as long as it is: paths and commands can be copied from it."""
    console.print(sentence, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts, called as ``progress(done, total)``; it appears with the first call."""
    with _bar(MofNCompleteColumn()) as bar:
        task = bar.add_task(title, total=None)

        def progress(done: int, total: int) -> None:
            bar.start()
            bar.update(task, completed=done, total=total)
            if done >= total:
                bar.stop()  # leaves the terminal to the next one

        yield progress


@contextmanager
def training(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar for a training, called as ``progress(share done, line of numbers)``."""
    with _bar(TextColumn("{task.percentage:>3.0f}%  {task.fields[line]}", markup=False)) as bar:
        task = bar.add_task(title, total=1.0, line="")

        def progress(share: float, line: str) -> None:
            bar.start()
            bar.update(task, completed=share, line=line)

        yield progress


@contextmanager
def _bar(numbers: ProgressColumn) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), numbers, TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True))
    try:
        yield bar
    finally:
        bar.stop()
