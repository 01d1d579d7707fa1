"""``wassermix audit``: the performance geodesic of a model, for each pair of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from wassermix.audit import AuditSettings, PerformanceGeodesic, PerformanceSimplex, run_audit
from wassermix.cli.console import console, counted
from wassermix.cli.target import Target
from wassermix.core.job import Output
from wassermix.core.processes import rank
from wassermix.core.settings import settings_from

__all__ = ["audit_target"]

SHOWN = 10
"""The terminal shows so many of the weakest pairs; the file has them all."""


def audit_target(
    target: Target,
    given: Mapping[str, Any],
    *,
    name: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Audit, write the files, and print where the model is weakest; ``given`` are settings by name.

    Returns what the JSON file holds: every pair, not only those that are printed.
    """
    values = dict(given)
    if values.get("sigma") == "run" and target.sigma:
        values["sigma"] = target.sigma
    settings = settings_from(AuditSettings, values, where="audit")
    with counted(f"auditing {target.folder.name}") as progress:
        found = run_audit(
            target.model,
            target.split,
            settings,
            output=Output(target.folder / "audit", name, resume, overwrite),
            class_names=target.data.class_names or (),
            about=target.about(),
            progress=progress,
        )
    if rank() == 0:
        console.print(_curves(found) if isinstance(found, PerformanceGeodesic) else _surface(found))
    return found.record()


def _curves(found: PerformanceGeodesic) -> Table:
    heads = ("from", "to", "total variation", "worst t", "accuracy there", "flips at t")
    title = "performance geodesic: the pairs where the loss moves most"
    table = Table(*heads, title=title, title_justify="left")
    for pair in sorted(found.pairs, key=lambda pair: -pair.total_variation)[:SHOWN]:
        worst = pair.t.index(pair.worst_t)
        table.add_row(
            found.class_name(pair.source),
            found.class_name(pair.target),
            f"{pair.total_variation:.3f}",
            f"{pair.worst_t:.2f}",
            f"{pair.accuracy[worst]:.1%}",
            "never" if pair.flip_t is None else f"{pair.flip_t:.2f}",
        )
    return table


def _surface(found: PerformanceSimplex) -> Table:
    names = [found.class_name(number) for number in found.classes]
    heads = (*(f"weight of {name}" for name in names), "KL", *(f"as {name}" for name in names))
    title = "between three classes: where the loss beyond the label's own entropy is largest"
    table = Table(*heads, title=title, title_justify="left")
    for place in sorted(range(len(found.kl)), key=lambda k: -found.kl[k])[:SHOWN]:
        weights, decided = found.weights[place], found.decided[place]
        table.add_row(
            *(f"{w:.2f}" for w in weights), f"{found.kl[place]:.3f}", *(f"{share:.1%}" for share in decided)
        )
    return table
