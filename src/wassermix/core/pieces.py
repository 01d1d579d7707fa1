"""Work in pieces: each logged when it is done, shared among processes, and put together at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.job import Job, Output
from wassermix.core.processes import together

__all__ = ["Found", "Progress", "carry_out"]

Progress = Callable[[int, int], None]
Found = Mapping[str, Any]
"""What a piece came to, ready for JSON."""


def carry_out(
    job: Job,
    output: Output,
    *,
    sizes: Sequence[int],
    piece: Callable[[int], Found],
    finish: Callable[[list[Found]], Mapping[str, Callable[[Path], object]]],
    progress: Progress | None = None,
) -> None:
    """Do ``piece(0), piece(1), ...`` and write the result files that ``finish`` makes of them.

    ``sizes`` has an entry for each piece, which ``progress`` counts: images in a block, say. Killed at any
    moment, the same call with ``resume`` goes on with the pieces that lack; ``piece(k)`` must depend on ``k``
    alone, so that it ends as an undisturbed call does. Each process (``torchrun``) takes every world-th
    piece, and rank 0 writes.
    """
    with ExitStack() as held:
        together(lambda: held.enter_context(job.begin(resume=output.resume, overwrite=output.overwrite)))
        if together(lambda: job.finished):
            return
        done = together(lambda: _logged(job))
        together(lambda: _work(job, done, sizes=sizes, piece=piece, progress=progress))
        together(lambda: _finish(job, len(sizes), finish) if job.rank == 0 else None)


def _work(
    job: Job,
    done: Mapping[int, Found],
    *,
    sizes: Sequence[int],
    piece: Callable[[int], Found],
    progress: Progress | None,
) -> None:
    """This process's share of the pieces, less those that are done."""
    mine = range(job.rank, len(sizes), job.world)
    total, finished = sum(sizes[number] for number in mine), 0
    for number in mine:
        if number not in done:
            job.append(json.dumps({"piece": number, "found": piece(number)}))
        finished += sizes[number]
        if progress is not None:
            progress(finished, total)


def _finish(
    job: Job, count: int, finish: Callable[[list[Found]], Mapping[str, Callable[[Path], object]]]
) -> None:
    logged = _logged(job)
    job.finish(finish([logged[number] for number in range(count)]))


def _logged(job: Job) -> dict[int, Found]:
    """The finished pieces, whichever process logged them."""
    try:
        return {line["piece"]: line["found"] for line in map(json.loads, job.lines())}
    except (KeyError, TypeError, ValueError) as error:
        where = job.path(job.log)
        raise InputError(f"'{where}' is damaged ({error}); begin anew with --overwrite") from error
