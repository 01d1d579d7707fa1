"""Several processes under torchrun: who am I, wrap the objective, average; one process needs none of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor, nn

from wassermix.core.errors import LostProcessError
from wassermix.core.processes import rank, world_size

__all__ = [
    "joined",
    "process_group",
    "rank",
    "share_of",
    "synchronised",
    "world_size",
    "wrapped",
]


@contextmanager
def process_group() -> Iterator[None]:
    """Join the group that torchrun announces, and leave it at the end; nothing without torchrun.

    Where one process dies torchrun ends the others with SIGTERM: inside, that is a
    :class:`~wassermix.core.errors.LostProcessError`, so that they stop with a sentence.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    before = signal.signal(signal.SIGTERM, _ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        dist.destroy_process_group()


def _ended(number: int, frame: FrameType | None) -> NoReturn:
    raise LostProcessError(
        "stopped, because another process of this command has ended or the job was stopped"
    )


def wrapped(objective: nn.Module) -> nn.Module:
    """The objective with gradients averaged over processes."""
    if world_size() == 1:
        return objective
    return nn.parallel.DistributedDataParallel(objective)


def share_of(order: Tensor) -> Tensor:
    """This process's part of an epoch's order; all parts are equally long (the first samples fill up)."""
    world = world_size()
    missing = -len(order) % world
    return torch.cat([order, order[:missing]])[rank() :: world]


def joined(own: Tensor, length: int) -> Tensor:
    """Everyone's rows in the samples' order, where each has those of its :func:`share_of` ``length``."""
    if world_size() == 1:
        return own
    shares = [torch.empty_like(own) for _ in range(world_size())]
    dist.all_gather(shares, own)
    return torch.stack(shares, dim=1).flatten(0, 1)[:length]


def synchronised(model: nn.Module) -> None:
    """Give every process rank 0's buffers: batch statistics drift apart between processes."""
    if world_size() > 1:
        for buffer in model.buffers():
            dist.broadcast(buffer, src=0)
