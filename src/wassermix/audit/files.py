"""An audit on disk: the curves as JSON, and pictures along a few paths as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from wassermix.audit.performance import PerformanceGeodesic, exact_path, performance_geodesic
from wassermix.embed import Embedding, Pixel
from wassermix.embed.base import is_image
from wassermix.errors import InputError
from wassermix.files import read_json, write_beside, write_json
from wassermix.modes import Classifier
from wassermix.streams import stream

__all__ = ["HeldOut", "audit_to_files", "default_name"]


class HeldOut(Protocol):
    """Labelled samples by index: a test or held-out split."""

    @property
    def y(self) -> Tensor:
        """Labels ``(n,)`` int64."""

    def get(self, indices: Tensor, /) -> Tensor:
        """The samples at ``indices``."""


def default_name(sigma: float, points: int) -> str:
    """``geodesic-s{sigma}-p{points}``."""
    return f"geodesic-s{sigma:g}-p{points}"


def audit_to_files(
    model: Classifier,
    split: HeldOut,
    *,
    out: Path,
    name: str | None = None,
    pairs: Literal["all"] | Sequence[tuple[int, int]] = "all",
    points: int = 21,
    per_class: int = 500,
    sigma: float = 0.0,
    draws: int = 1,
    embed: Embedding | None = None,
    entropy: float | None = None,
    seed: int = 0,
    frame_pairs: int = 6,
    frame_samples: int = 4,
    frame_times: int = 11,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> PerformanceGeodesic:
    """:func:`performance_geodesic` on a held-out split, written to ``out/NAME.json`` and ``out/NAME.npz``.

    The ``.npz`` (images only) holds ``frames (pairs, samples, times, C, H, W)`` uint8 for the weakest pairs,
    with ``pairs (p, 2)`` and ``t (times,)``. An audit that exists is refused, kept (``resume``) or replaced.
    """
    name = default_name(sigma, points) if name is None else name
    file = out / f"{name}.json"
    if file.exists() and not overwrite:
        if resume:
            return PerformanceGeodesic.from_dict(read_json(file))
        raise InputError(
            f"'{file}' exists; use --resume to keep it, --overwrite to replace it, or another --name"
        )
    rows = _rows(split.y, per_class, seed)
    x, y = split.get(rows).to(device), split.y[rows].to(device)
    audit = performance_geodesic(
        model,
        x,
        y,
        pairs=pairs,
        points=points,
        per_class=per_class,
        sigma=sigma,
        draws=draws,
        embed=embed,
        entropy=entropy,
        seed=seed,
        progress=progress,
    )
    if is_image(tuple(x.shape[1:])):
        shown = [(pair.source, pair.target) for pair in audit.weakest(frame_pairs)]
        _write_frames(out / f"{name}.npz", x, y, shown, samples=frame_samples, times=frame_times, embed=embed)
    write_json(file, audit.as_dict())
    return audit


def _rows(y: Tensor, per_class: int, seed: int) -> Tensor:
    """At most ``per_class`` rows of each class, so that no more is read than is used."""
    parts = []
    for kind in y.unique().tolist():
        rows = (y == kind).nonzero()[:, 0]
        parts.append(rows[torch.randperm(len(rows), generator=stream(seed, "audit rows", kind))[:per_class]])
    return torch.cat(parts).sort().values


@torch.no_grad()
def _write_frames(
    path: Path,
    x: Tensor,
    y: Tensor,
    pairs: list[tuple[int, int]],
    *,
    samples: int,
    times: int,
    embed: Embedding | None,
) -> None:
    """Pictures along the weakest paths, the same number of samples for each."""
    embed = Pixel().fit(x[:1]) if embed is None else embed
    paths = [exact_path(x[y == a], x[y == b], a, y1=b, embed=embed) for a, b in pairs]
    count = min(samples, *(len(p) for p in paths))
    t = torch.linspace(0, 1, times)
    frames = torch.stack(
        [torch.stack([p.rows(torch.arange(count)).at(float(s)).x for s in t], dim=1) for p in paths]
    )
    packed = frames.clamp(0, 1).mul(255).round().to(torch.uint8).cpu().numpy()

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez_compressed(file, frames=packed, pairs=np.array(pairs), t=t.numpy())

    write_beside(path, write)
