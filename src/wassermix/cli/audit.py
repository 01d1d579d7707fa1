"""``wassermix audit``: the performance geodesic of a model, for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.table import Table
from torch import nn

from wassermix.audit import PerformanceGeodesic, PerformanceSimplex, audit_to_files, simplex_to_files
from wassermix.cli.console import console, counted
from wassermix.cli.target import Target
from wassermix.core.errors import InputError
from wassermix.embed import load_embedding

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
    classes: str | None = None
    embed: Path | None = None
    name: str | None = None
    seed: int = 0


def run_audit(
    target: Target, settings: AuditSettings, *, resume: bool = False, overwrite: bool = False
) -> None:
    """Audit, write JSON and pictures, and print where the model is weakest."""
    out, words = target.folder / "audit", f"auditing {target.folder.name}"
    asked = {**_asked(target, settings), "resume": resume, "overwrite": overwrite}
    if settings.classes is None:
        pairs = parse_pairs(settings.pairs)
        with counted(words) as progress:
            curves = audit_to_files(
                target.model, target.split, out=out, pairs=pairs, progress=progress, **asked
            )
        _print(curves, _names(target))
    else:
        three = parse_classes(settings.classes)
        with counted(words) as progress:
            surface = simplex_to_files(
                target.model, target.split, out=out / "simplex", classes=three, progress=progress, **asked
            )
        _print_simplex(surface, _names(target))


def _asked(target: Target, settings: AuditSettings) -> dict[str, Any]:
    """What pairs and triples of classes have in common."""
    model = target.model
    return {
        "name": settings.name,
        "points": settings.points,
        "per_class": settings.per_class,
        "sigma": settings.sigma,
        "draws": settings.draws,
        "embed": None if settings.embed is None else load_embedding(settings.embed),
        "seed": settings.seed,
        "device": next(model.parameters()).device if isinstance(model, nn.Module) else "cpu",
        "about": target.about(),
        "class_names": target.data.class_names or None,
    }


def _names(target: Target) -> tuple[str, ...]:
    return target.data.class_names or tuple(map(str, range(target.data.num_classes)))


def parse_pairs(text: str) -> Literal["all"] | list[tuple[int, int]]:
    """``3-8,4-9`` as pairs of classes; ``all`` passes."""
    if text == "all":
        return "all"
    try:
        pairs = [tuple(int(word) for word in pair.split("-")) for pair in text.split(",")]
        return [(source, target) for source, target in pairs]
    except ValueError as error:
        raise InputError(f"--pairs is '{text}'; expected 'all' or class numbers such as 3-8,4-9") from error


def parse_classes(text: str) -> tuple[int, int, int]:
    """``3-5-8`` as three classes."""
    try:
        first, second, third = (int(word) for word in text.split("-"))
    except ValueError as error:
        raise InputError(f"--classes is '{text}'; expected three class numbers such as 3-5-8") from error
    return first, second, third


def _print(curves: PerformanceGeodesic, names: tuple[str, ...]) -> None:
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


def _print_simplex(surface: PerformanceSimplex, names: tuple[str, ...]) -> None:
    shown = [names[kind] for kind in surface.classes]
    table = Table(
        *(f"weight of {name}" for name in shown),
        "KL",
        *(f"as {name}" for name in shown),
        title_justify="left",
        title="between three classes: where the loss beyond the label's own entropy is largest",
    )
    for place in sorted(range(len(surface.kl)), key=lambda k: -surface.kl[k])[:SHOWN]:
        weights, decided = surface.weights[place], surface.decided[place]
        table.add_row(
            *(f"{w:.2f}" for w in weights), f"{surface.kl[place]:.3f}", *(f"{share:.1%}" for share in decided)
        )
    console.print(table)
