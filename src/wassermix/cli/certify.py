"""``wassermix certify``: certificates for a model's test samples, into its run directory."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from torch import nn

from wassermix.certify import (
    Certificates,
    CertifySettings,
    CostEstimate,
    certify_to_files,
    estimate_cost,
    find_shards,
    merge_shards,
)
from wassermix.cli.console import console, counted, say
from wassermix.cli.target import Target, sample_indices
from wassermix.core.classifier import Classifier
from wassermix.core.job import Output
from wassermix.core.settings import settings_from
from wassermix.core.shard import Shard
from wassermix.engine import distributed

__all__ = ["in_precision", "run_certify", "run_merge"]

LONG = 1_000_000
"""From so many forward passes on the cost is estimated, and said, before the work begins."""


def in_precision(model: Classifier, precision: str) -> Classifier:
    """The model with float64 weights where these are asked for; else as it is."""
    return model.double() if precision == "float64" and isinstance(model, nn.Module) else model


def _warn_of_other_noise(target: Target, settings: CertifySettings) -> None:
    if target.sigma and settings.sigma != target.sigma:
        say(
            f"note: the model was trained with noise {target.sigma:g} and is certified with "
            f"{settings.sigma:g}; leave --sigma out to certify with the noise of its training"
        )


def _say_cost(cost: CostEstimate, settings: CertifySettings) -> None:
    most = "" if cost.passes_at_most == cost.passes else f" (at most {cost.passes_at_most:,})"
    say(f"about {cost.passes:,} forward passes{most}, {cost.minutes:.1f} minutes here on one process")
    if settings.mode == "fixed" and cost.passes >= LONG:
        say("--mode grid proves the same table of radii at the same level, mostly in far fewer passes")


def run_certify(
    target: Target,
    given: Mapping[str, Any],
    *,
    images: str,
    name: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    shard: str | None = None,
) -> dict[str, Any]:
    """Certify, print the table, and say what was spent and what may be said of the whole set.

    ``given`` are settings by name; the noise is the run's own where it is not among them. ``shard`` is
    the part of the images to certify, such as ``2/8``. Returns the numbers that it printed.
    """
    indices = sample_indices(target, images)
    part = None if shard is None else Shard.parse(shard)
    share = indices if part is None else part.share(indices)
    values = {**given, "sigma": target.noise(given.get("sigma"))}
    settings = settings_from(CertifySettings, values, where="certify")
    model = in_precision(target.model, settings.precision)
    _warn_of_other_noise(target, settings)
    if dry_run or (len(share) * settings.n >= LONG and not resume):
        cost = estimate_cost(model, target.split, share, settings=settings)
        _say_cost(cost, settings)
        if dry_run:
            return {**settings.as_dict(), **asdict(cost), "minutes": cost.minutes}
    named = name or settings.name + target.suffix
    with distributed.process_group(), counted(f"certifying {target.folder.name}") as progress:
        certificates = certify_to_files(
            model,
            target.split,
            indices,
            settings=settings,
            output=Output(target.folder / "certify", named, resume, overwrite, part),
            about=target.about(),
            progress=progress,
            chose=say,
        )
        if distributed.rank() != 0:
            return {}
        _print(certificates)
    if part is not None:
        folder = shlex.quote(str(target.folder))
        say(f"this is shard {part}; with all of them, `wassermix merge {folder} --name {named}`")
    return {"run": target.folder, **certificates.about, **_record(certificates)}


def run_merge(run: Path, *, name: str | None = None, overwrite: bool = False) -> dict[str, Any]:
    """Join the shards of a certification, and print its table."""
    folder = run / "certify"
    name = find_shards(folder, name)
    merged = merge_shards(folder, name, overwrite=overwrite)
    _print(merged)
    say(f"merged: {folder / name}.tsv")
    return {"run": run, **merged.about, **_record(merged)}


def _record(certificates: Certificates) -> dict[str, Any]:
    """The summary; like the table, it has no accuracy at radii that no image could reach."""
    summary = certificates.summary()
    rows = [row for row in summary["certified"] if row["radius"] <= certificates.reach]
    return {**summary, "certified": rows, "reach": certificates.reach}


def _print(certificates: Certificates) -> None:
    summary = certificates.summary()
    title = f"certified accuracy, {summary['mode']}, sigma {summary['sigma']:g}, {summary['images']} images"
    if summary["precision"] != "float32":
        title += f", in {summary['precision']}: another classifier than in float32"
    table = Table("radius", "certified", "95% interval", title=title, title_justify="left")
    for row in certificates.certified_accuracy():
        cells = (f"{row.accuracy:.1%}", f"{row.low:.1%} to {row.high:.1%}")
        table.add_row(f"{row.radius:g}", *(cells if row.radius <= certificates.reach else ("-", "-")))
    console.print(table)
    if certificates.reach < max(certificates.settings.radii if certificates.settings else (0.0,)):
        say(f"-: no radius above {certificates.reach:.2f} can be proved with this many draws for any image")
    if summary["acr"] is not None:
        say(f"average certified radius {summary['acr']:.3f} (comparable at equal mode, n and alpha only)")
    if summary["p_a"]:
        say("images by p_A, the probability of their label under noise, with a 95% band:")
        console.print(_sureness(summary["p_a"]))
    draws = summary["draws"]
    fewer = f"; {summary['saving']:.1f}x fewer than mode fixed takes" if summary["saving"] >= 1.05 else ""
    say(f"draws per image: mean {draws['mean']:.0f}, median {draws['median']:.0f}{fewer}")
    say(summary["statement"])


def _sureness(rows: list[dict[str, float]]) -> Table:
    """The distribution of p_A with its band, level by level: it shows what an average radius hides."""
    table = Table("p_A at least", box=None)
    for row in rows:
        table.add_column(f"{row['p']:g}", justify="right")
    for words, key in (("images", "share"), ("band from", "low"), ("to", "high")):
        table.add_row(words, *(f"{row[key]:.1%}" for row in rows))
    return table
