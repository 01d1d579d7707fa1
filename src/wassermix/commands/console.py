"""What commands show while they work: progress bars and tables on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["console", "counted", "training"]

console = Console()
"""Where results are printed; progress goes to the standard error stream, so that results can be piped."""

_progress_console = Console(stderr=True)


@contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts: the callback is called as ``progress(done, total)``."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_progress_console) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def training(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar for a training: the callback is called as ``progress(share done, line of numbers)``."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[line]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_progress_console) as bar:
        task = bar.add_task(title, total=1.0, line="")
        yield lambda share, line: bar.update(task, completed=share, line=line)
