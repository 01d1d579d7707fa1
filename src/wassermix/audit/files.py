"""An audit on disk: the curves as JSON, and pictures along a few paths as arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from wassermix.audit.performance import (
    PerformanceGeodesic,
    audit_parameters,
    exact_path,
    performance_geodesic,
    wanted_pairs,
)
from wassermix.audit.simplex import PerformanceSimplex, performance_simplex
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.files import read_json, write_beside, write_json
from wassermix.core.fingerprint import fingerprint
from wassermix.core.streams import stream
from wassermix.embed import Embedding, Pixel
from wassermix.embed.protocol import is_image
from wassermix.geodesic.path import Geodesic

__all__ = ["HeldOut", "audit_to_files", "default_name", "simplex_to_files"]


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
    about: dict[str, Any] | None = None,
    class_names: Sequence[str] | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> PerformanceGeodesic:
    """:func:`performance_geodesic` on a held-out split, written to ``out/NAME.json`` and ``out/NAME.npz``.

    The ``.npz`` (images only) holds ``frames (pairs, samples, times, C, H, W)`` uint8 for the weakest pairs,
    with ``pairs (p, 2)`` and ``t (times,)``. ``about`` is put at the top of the JSON as it is (which data,
    which split, a note), ``class_names`` among its parameters. An audit that exists is refused, replaced
    (``overwrite``) or kept (``resume``), the last only where model, pairs and parameters are the same.
    """
    file = out / f"{default_name(sigma, points) if name is None else name}.json"
    names = {} if class_names is None else {"class_names": list(class_names)}
    made_of = {**(about or {}), **_fingerprints(model, embed)}
    parameters = audit_parameters(
        points, per_class, sigma, draws=draws, seed=seed, embed=embed, entropy=entropy
    )
    chosen = {"pairs": _spelled(wanted_pairs(pairs, split.y.unique().tolist()))}
    task = {**parameters, **names, **made_of, **chosen}
    if earlier := _earlier(file, task, resume=resume, overwrite=overwrite):
        return PerformanceGeodesic.from_dict(earlier)
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
        paths = _paths(x, y, shown, embed=embed, entropy=entropy)
        _write_frames(file.with_suffix(".npz"), paths, shown, samples=frame_samples, times=frame_times)
    audit = replace(audit, parameters={**audit.parameters, **names})
    write_json(file, {**made_of, **audit.as_dict()})
    return audit


def simplex_to_files(
    model: Classifier,
    split: HeldOut,
    *,
    out: Path,
    classes: tuple[int, int, int],
    name: str | None = None,
    points: int = 9,
    per_class: int = 200,
    sigma: float = 0.0,
    draws: int = 1,
    embed: Embedding | None = None,
    seed: int = 0,
    about: dict[str, Any] | None = None,
    class_names: Sequence[str] | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> PerformanceSimplex:
    """:func:`performance_simplex` on a held-out split, written to ``out/NAME.json`` and ``out/NAME.svg``.

    The rest as in :func:`audit_to_files`.
    """
    first, second, third = classes
    file = out / f"{f'{first}-{second}-{third}-s{sigma:g}-p{points}' if name is None else name}.json"
    names = {} if class_names is None else {"class_names": list(class_names)}
    made_of = {**(about or {}), **_fingerprints(model, embed)}
    parameters = audit_parameters(points, per_class, sigma, draws=draws, seed=seed, embed=embed, entropy=None)
    task = {**parameters, **names, **made_of, "classes": list(classes)}
    if earlier := _earlier(file, task, resume=resume, overwrite=overwrite):
        return PerformanceSimplex.from_dict(earlier)
    rows = _rows(split.y, per_class, seed)
    audit = performance_simplex(
        model,
        split.get(rows).to(device),
        split.y[rows].to(device),
        classes=classes,
        points=points,
        per_class=per_class,
        sigma=sigma,
        draws=draws,
        embed=embed,
        seed=seed,
        progress=progress,
    )
    audit = replace(audit, parameters={**audit.parameters, **names})
    write_json(file, {**made_of, **audit.as_dict()})
    write_beside(file.with_suffix(".svg"), lambda beside: audit.plot().savefig(beside, format="svg"))
    return audit


def _fingerprints(model: Classifier, embed: Embedding | None) -> dict[str, str | None]:
    """Which weights, and which embedding where one was given."""
    found = {"fingerprint": fingerprint(model)}
    return found if embed is None else {**found, "embedding": fingerprint(embed)}


def _earlier(file: Path, task: dict[str, Any], *, resume: bool, overwrite: bool) -> dict[str, Any] | None:
    """What the same audit wrote before; None where it is to be made, an error where it is not the same."""
    if overwrite or not file.exists():
        return None
    if not resume:
        raise InputError(
            f"'{file}' exists; use --resume to keep it, --overwrite to replace it, or another --name"
        )
    stored: dict[str, Any] = read_json(file)
    pairs = _spelled([(pair["source"], pair["target"]) for pair in stored.get("pairs", [])])
    found = {**stored, **stored["parameters"], "pairs": pairs}
    for key, value in json.loads(json.dumps(task)).items():
        if found.get(key) != value:
            raise InputError(
                f"'{file}' was made with {key} {found.get(key)!r}, now it is {value!r}; "
                "resume with the same settings, overwrite it, or give another name"
            )
    return stored


def _spelled(pairs: Sequence[tuple[int, int]]) -> str:
    return ",".join(f"{source}-{target}" for source, target in pairs)


def _rows(y: Tensor, per_class: int, seed: int) -> Tensor:
    """At most ``per_class`` rows of each class, so that no more is read than is used."""
    parts = []
    for kind in y.unique().tolist():
        rows = (y == kind).nonzero()[:, 0]
        parts.append(rows[torch.randperm(len(rows), generator=stream(seed, "audit rows", kind))[:per_class]])
    return torch.cat(parts).sort().values


@torch.no_grad()
def _paths(
    x: Tensor, y: Tensor, pairs: list[tuple[int, int]], *, embed: Embedding | None, entropy: float | None
) -> list[Geodesic]:
    """The paths that were audited, once more."""
    embed = Pixel().fit(x[:1]) if embed is None else embed
    return [exact_path(x[y == a], x[y == b], a, y1=b, embed=embed, entropy=entropy) for a, b in pairs]


@torch.no_grad()
def _write_frames(
    path: Path, paths: list[Geodesic], pairs: list[tuple[int, int]], *, samples: int, times: int
) -> None:
    """Pictures along the weakest paths, the same number of samples for each."""
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
