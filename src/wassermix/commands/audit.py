"""``wassermix audit``: the performance geodesic of a model, for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from torch import nn

from wassermix.audit import PerformanceGeodesic, audit_to_files
from wassermix.commands.console import console, counted
from wassermix.commands.target import Target
from wassermix.errors import InputError

__all__ = ["AuditSettings", "run_audit"]

SHOWN = 10
"""The terminal shows so many of the weakest pairs; the file has them all."""


@dataclass(frozen=True)
class AuditSettings:
    """What to audit and how finely."""

    pairs: str = "all"
    points: int = 21
    per_class: int = 500
    sigma: float = 0.0
    draws: int = 16
    name: str | None = None
    seed: int = 0


def run_audit(
    target: Target, settings: AuditSettings, *, resume: bool = False, overwrite: bool = False
) -> None:
    """Audit, write JSON and pictures, and print the weakest pairs."""
    with counted(f"auditing {target.folder.name}") as progress:
        curves = audit_to_files(
            target.model,
            target.split,
            out=target.folder / "audit",
            name=settings.name,
            pairs=parse_pairs(settings.pairs),
            points=settings.points,
            per_class=settings.per_class,
            sigma=settings.sigma,
            draws=settings.draws,
            seed=settings.seed,
            resume=resume,
            overwrite=overwrite,
            device=next(target.model.parameters()).device if isinstance(target.model, nn.Module) else "cpu",
            about=target.about(),
            class_names=target.data.class_names or None,
            progress=progress,
        )
    _print(curves, target)


def parse_pairs(text: str) -> Literal["all"] | list[tuple[int, int]]:
    """``3-8,4-9`` as pairs of classes; ``all`` passes."""
    if text == "all":
        return "all"
    try:
        pairs = [tuple(int(word) for word in pair.split("-")) for pair in text.split(",")]
        return [(source, target) for source, target in pairs]
    except ValueError as error:
        raise InputError(f"--pairs is '{text}'; expected 'all' or class numbers such as 3-8,4-9") from error


def _print(curves: PerformanceGeodesic, target: Target) -> None:
    names = target.data.class_names or tuple(map(str, range(target.data.num_classes)))
    table = Table(
        "from",
        "to",
        "total variation",
        "worst t",
        "accuracy there",
        "flips at t",
        title_justify="left",
        title="performance geodesic: the pairs where the loss moves most",
    )
    for pair in sorted(curves.pairs, key=lambda pair: -pair.total_variation)[:SHOWN]:
        worst = pair.t.index(pair.worst_t)
        flip = "never" if pair.flip_t is None else f"{pair.flip_t:.2f}"
        table.add_row(
            names[pair.source],
            names[pair.target],
            f"{pair.total_variation:.3f}",
            f"{pair.worst_t:.2f}",
            f"{pair.accuracy[worst]:.1%}",
            flip,
        )
    console.print(table)
