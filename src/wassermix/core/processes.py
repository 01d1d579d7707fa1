"""Several processes that share one piece of work: who am I, do it together, fail together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist

from wassermix.core.errors import InputError, LostProcessError

__all__ = ["from_first", "place", "rank", "together", "world_size"]

T = TypeVar("T")


def rank() -> int:
    """This process's number, 0 to ``world_size() - 1``."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def world_size() -> int:
    """How many processes work together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def place() -> tuple[int, int]:
    """Rank and number of processes; (0, 1) where there is only one."""
    return rank(), world_size()


def together(act: Callable[[], T]) -> T:
    """Act, then wait for the others; what is wrong in one process is raised in all, so none waits in vain."""
    error: InputError | None = None
    try:
        result = act()
    except InputError as caught:
        error = caught
    if world_size() > 1:
        messages = _told(None if error is None else str(error))
        error = error or next((InputError(message) for message in messages if message is not None), None)
    if error is not None:
        raise error
    return result


def from_first(act: Callable[[], T]) -> T:
    """What rank 0 gets by acting, in every process; what is wrong there is raised in all."""
    result = together(lambda: act() if rank() == 0 else None)
    if world_size() > 1:
        box: list[T | None] = [result]
        dist.broadcast_object_list(box, src=0)
        result = box[0]
    return result  # type: ignore[return-value]


def _told(message: str | None) -> list[str | None]:
    """Everyone's message, where everyone is still there."""
    messages: list[str | None] = [None] * world_size()
    try:
        dist.all_gather_object(messages, message)
    except RuntimeError as error:  # the backend's: a connection was closed, or nobody answered in time
        raise LostProcessError("another process of this command has ended") from error
    return messages
