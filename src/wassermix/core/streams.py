"""Random streams: one generator for each purpose, none of them global."""

from __future__ import annotations

import hashlib

import torch

__all__ = ["stream", "stream_seed"]


def stream_seed(seed: int, *purpose: str | int) -> int:
    """A 63-bit seed that depends on ``seed`` and on every part of ``purpose``.

    Parts are hashed with their types and order, so ``(seed, 1, 23)`` and ``(seed, 12, 3)`` differ.
    """
    text = repr((int(seed), *purpose)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def stream(seed: int, *purpose: str | int, device: torch.device | str = "cpu") -> torch.Generator:
    """The generator for one purpose, such as ``stream(seed, "order", epoch, rank)``."""
    return torch.Generator(device=device).manual_seed(stream_seed(seed, *purpose))
