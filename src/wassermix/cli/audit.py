"""``wassermix audit``: the performance geodesic of a model, for each pair of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from wassermix.audit import AuditSettings, PerformanceGeodesic, PerformanceSimplex, run_audit
from wassermix.cli.console import console, counted
from wassermix.cli.target import Target
from wassermix.core.job import Output
from wassermix.core.processes import rank
from wassermix.core.settings import settings_from

__all__ = ["audit_target"]

Found = PerformanceGeodesic | PerformanceSimplex
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
    settings = settings_from(AuditSettings, dict(given), where="audit").of_run(target.sigma or 0.0)
    found = [
        _audited(target, one, _file_name(name, one, settings), resume=resume, overwrite=overwrite)
        for one in settings.each_pairing()
    ]
    if rank() == 0:
        console.print(_shown(found))
    return found[0].record() if len(found) == 1 else {"exact": found[0].record(), "random": found[1].record()}


def _file_name(name: str | None, one: AuditSettings, asked: AuditSettings) -> str | None:
    """The name that was given, told apart where it is for two audits."""
    return f"{name}-{one.pairing}" if name is not None and asked.pairing == "both" else name


def _audited(
    target: Target, settings: AuditSettings, name: str | None, *, resume: bool, overwrite: bool
) -> Found:
    with counted(f"auditing {target.folder.name}, {settings.pairing} pairs") as progress:
        return run_audit(
            target.model,
            target.split,
            settings,
            output=Output(target.folder / "audit", name, resume, overwrite, suffix=target.suffix),
            class_names=target.data.class_names or (),
            about=target.about(),
            progress=progress,
        )


def _shown(found: Sequence[Found]) -> Table:
    first, others = found[0], [one for one in found[1:] if isinstance(one, PerformanceGeodesic)]
    if isinstance(first, PerformanceSimplex):
        return _surface(first)
    return _curves(first, others[0] if others else None)


def _curves(found: PerformanceGeodesic, random: PerformanceGeodesic | None) -> Table:
    heads = ("from", "to", "total variation", "worst t", "accuracy there", "flips at t")
    beside = ("by random pairs",) if random else ()
    title = "performance geodesic: the pairs where the loss moves most"
    table = Table(*heads, *beside, title=title, title_justify="left")
    others = {(pair.source, pair.target): pair.total_variation for pair in random.pairs} if random else {}
    for pair in sorted(found.pairs, key=lambda pair: -pair.total_variation)[:SHOWN]:
        worst = pair.t.index(pair.worst_t)
        table.add_row(
            found.class_name(pair.source),
            found.class_name(pair.target),
            f"{pair.total_variation:.3f}",
            f"{pair.worst_t:.2f}",
            f"{pair.accuracy[worst]:.1%}",
            "never" if pair.flip_t is None else f"{pair.flip_t:.2f}",
            *([f"{others[pair.source, pair.target]:.3f}"] if random else []),
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
