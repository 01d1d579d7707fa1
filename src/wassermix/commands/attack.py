"""``wassermix attack``: what an attack leaves of a model's accuracy, into its run directory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from rich.table import Table

from wassermix.attacks import AttackResult, attack_to_files, estimate_attack_cost, make_attack, parse_number
from wassermix.commands.console import console, counted
from wassermix.commands.target import Target, sample_indices

__all__ = ["AttackSettings", "run_attack"]


@dataclass(frozen=True)
class AttackSettings:
    """Which attack, how strong, on how many samples; ``eps`` may be several numbers with commas."""

    attack: str = "pgd"
    norm: str = "linf"
    eps: str = "8/255"
    steps: int = 10
    restarts: int = 1
    images: str = "500"
    name: str | None = None
    seed: int = 0


def run_attack(
    target: Target,
    settings: AttackSettings,
    *,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> None:
    """Attack at each eps, print what survives, and print the checks that did not pass."""
    indices = torch.tensor(sample_indices(target, settings.images))
    for text in settings.eps.split(","):
        attack = make_attack(
            settings.attack,
            norm=settings.norm,
            eps=parse_number(text),
            steps=settings.steps,
            restarts=settings.restarts,
            seed=settings.seed,
            bounds=(0.0, 1.0) if target.data.kind == "image" else None,
        )
        if dry_run:
            cost = estimate_attack_cost(target.model, target.split, indices, attack=attack)
            console.print(
                f"{attack.label}: would take about {cost.passes:,.0f} passes, {cost.minutes:.1f} minutes here"
            )
            continue
        with counted(f"attacking {target.folder.name}") as progress:
            result = attack_to_files(
                target.model,
                target.split,
                indices,
                attack=attack,
                out=target.folder / "attack",
                name=settings.name,
                resume=resume,
                overwrite=overwrite,
                progress=progress,
            )
        _print(result, attack.label)


def _print(result: AttackResult, label: str) -> None:
    table = Table(
        "", "accuracy", "95% interval", title=f"{label}, {len(result.index)} images", title_justify="left"
    )
    for name, share in (("clean", result.clean), ("attacked", result.robust)):
        table.add_row(name, f"{share['accuracy']:.1%}", f"{share['low']:.1%} to {share['high']:.1%}")
    console.print(table)
    for check in result.checks:
        if not check.passed:
            console.print(f"check '{check.name}': {check.message}")
