"""``wassermix certify``: certificates for a model's test samples, into its run directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from wassermix.certify import Certificates, CertifySettings, certify_to_files, estimate_cost
from wassermix.cli.console import console, counted, say
from wassermix.cli.target import Target, sample_indices
from wassermix.core.job import Output
from wassermix.core.settings import settings_from
from wassermix.engine import distributed

__all__ = ["run_certify"]


def run_certify(
    target: Target,
    given: Mapping[str, Any],
    *,
    images: str,
    name: str | None = None,
    suffix: str = "",
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> None:
    """Certify, print the table, and say what was spent and what may be said of the whole set.

    ``given`` are settings by name; the noise is the run's own where it is not among them. ``suffix`` is
    put behind the output's name where that is made from the settings.
    """
    indices = sample_indices(target, images)
    values = {**given, "sigma": target.noise(given.get("sigma"))}
    settings = settings_from(CertifySettings, values, where="certify")
    if dry_run:
        cost = estimate_cost(target.model, target.split, indices, settings=settings)
        say(
            f"would take about {cost.passes:,} forward passes (at most {cost.passes_at_most:,}), "
            f"{cost.minutes:.1f} minutes here"
        )
        return
    with distributed.process_group(), counted(f"certifying {target.folder.name}") as progress:
        certificates = certify_to_files(
            target.model,
            target.split,
            indices,
            settings=settings,
            output=Output(
                target.folder / "certify", name or settings.name + suffix, resume=resume, overwrite=overwrite
            ),
            about=target.about(),
            progress=progress,
        )
        if distributed.rank() == 0:
            _print(certificates)


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
        say(f"-: no radius above {certificates.reach:.2f} can be proved with so many draws for any image")
    if summary["acr"] is not None:
        say(f"average certified radius {summary['acr']:.3f} (comparable at equal mode, n and alpha only)")
    if summary["p_a"]:
        say(_sureness(summary["p_a"]))
    draws = summary["draws"]
    fewer = f"; {summary['saving']:.1f}x fewer than mode fixed takes" if summary["saving"] >= 1.05 else ""
    say(f"draws per image: mean {draws['mean']:.0f}, median {draws['median']:.0f}{fewer}")
    say(summary["statement"])


def _sureness(rows: list[dict[str, float]]) -> str:
    """The distribution of p_A in one line: it shows what an average radius hides."""
    shares = ", ".join(f"{row['p']:g}: {row['share']:.1%}" for row in rows)
    width = max(row["high"] - row["low"] for row in rows) / 2
    return (
        f"images whose label has probability p_A under noise of at least {shares} (band: {width:.1%} or less)"
    )
