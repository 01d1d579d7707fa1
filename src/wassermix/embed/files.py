"""Embeddings on disk, fitted on a split, and what they lose."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from wassermix import __version__
from wassermix.core.errors import InputError
from wassermix.core.samples import Samples
from wassermix.core.streams import stream
from wassermix.embed.protocol import Embedding, Progress
from wassermix.embed.registry import EMBEDDINGS

__all__ = [
    "encode_rows",
    "fit_cached",
    "fit_rows",
    "load_embedding",
    "reconstruction_error",
    "save_embedding",
]


def save_embedding(embed: Embedding, path: Path) -> None:
    """Write a fitted embedding as safetensors."""
    embed.save(path)


def load_embedding(path: Path, *, embed: Embedding | None = None) -> Embedding:
    """Read what :func:`save_embedding` wrote; ``embed`` is the unfitted object where it is the user's own."""
    try:
        with safe_open(str(path), framework="pt") as file:
            described = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise InputError(f"'{path}' cannot be read as an embedding ({error}); delete it") from error
    if "shape" not in described:
        raise InputError(f"'{path}' holds no embedding; delete it and fit again")
    if embed is None:
        name = described.get("embedding", "")
        if name not in EMBEDDINGS.names():
            raise InputError(f"'{path}' holds the embedding '{name}'; pass the object itself as embed=")
        embed = cast(Embedding, EMBEDDINGS.make(name, json.loads(described["options"])))
    return embed.restore(tensors, tuple(json.loads(described["shape"])))


def fit_rows(
    embed: Embedding,
    rows: Samples,
    *,
    limit: int | None = 20_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Embedding:
    """Fit on at most ``limit`` training samples, drawn evenly at random; None: on all."""
    order = torch.randperm(len(rows), generator=stream(seed, "embed"))
    return embed.fit(rows.get(order[:limit].sort().values), progress=progress)


def fit_cached(
    embed: Embedding,
    rows: Samples,
    *,
    cache: Path,
    limit: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Embedding:
    """:func:`fit_rows`, on all samples unless a ``limit`` is given, kept in the folder ``cache``.

    Its file is named after the data and the settings.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(
        repr((embed.name, sorted(embed.options().items()), limit, seed, len(rows), __version__)).encode()
    )
    for start in range(0, len(rows), 4096):
        chunk = rows.get(torch.arange(start, min(start + 4096, len(rows))))
        digest.update(chunk.contiguous().cpu().numpy().tobytes())
    path = cache / f"{embed.name}-{digest.hexdigest()}.safetensors"
    if path.exists():
        return load_embedding(path, embed=embed)
    fit_rows(embed, rows, limit=limit, seed=seed, progress=progress)
    save_embedding(embed, path)
    return embed


@torch.no_grad()
def encode_rows(embed: Embedding, rows: Samples, *, batch_size: int = 4096) -> Tensor:
    """All latents ``(len(rows), d)``."""
    parts = [
        embed.encode(rows.get(torch.arange(start, min(start + batch_size, len(rows)))))
        for start in range(0, len(rows), batch_size)
    ]
    return torch.cat(parts)


@torch.no_grad()
def reconstruction_error(embed: Embedding, x: Tensor) -> float:
    """The mean squared error per coordinate of ``psi(phi(x))`` against ``x``."""
    return float((embed.reconstruct(x) - x).square().mean())
