"""``wassermix attack``: what an attack leaves of a model's accuracy, into its run directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from rich.table import Table

from wassermix.attacks import (
    Attack,
    AttackResult,
    GeodesicAttack,
    attack_to_files,
    estimate_attack,
    make_attack,
)
from wassermix.cli.console import console, counted, say
from wassermix.cli.target import Target, sample_indices
from wassermix.core.errors import InputError

__all__ = ["AttackSettings", "run_attack"]

FIT_SAMPLES = 5_000
"""The geodesic attack fits its maps on at most so many training samples."""


@dataclass(frozen=True)
class AttackSettings:
    """Which attack, how strong, on how many samples; ``eps`` may be several numbers with commas."""

    attack: str = "pgd"
    norm: Literal["linf", "l2"] = "linf"
    eps: str = "8/255"
    steps: int = 10
    restarts: int = 1
    loss: Literal["ce", "margin"] = "ce"
    sigma: float | None = None
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
    # All are made before the first one runs: a mistake in the last eps should not cost hours.
    for attack in [_made(target, settings, eps) for eps in _radii(settings)]:
        if dry_run:
            cost = estimate_attack(target.model, target.split, indices, attack=attack)
            say(f"{attack.label}: at most {cost.passes:,} passes, {cost.minutes:.1f} minutes here")
            continue
        with counted(f"attacking {target.folder.name}") as progress:
            result = attack_to_files(
                target.model,
                target.split,
                indices,
                attack=attack,
                out=target.folder / "attack",
                name=_name(settings, attack),
                resume=resume,
                overwrite=overwrite,
                about=target.about(),
                progress=progress,
            )
        _print(result, attack.label)


def _radii(settings: AttackSettings) -> list[str]:
    radii = settings.eps.split(",")
    if settings.attack == "geodesic" and len(radii) > 1:
        raise InputError("attack geodesic goes along paths, not to a radius; leave --eps out")
    return radii


def _made(target: Target, settings: AttackSettings, eps: str) -> Attack:
    attack = make_attack(
        settings.attack,
        norm=settings.norm,
        eps=eps,
        steps=settings.steps,
        restarts=settings.restarts,
        loss=settings.loss,
        sigma=target.sigma if settings.sigma is None else settings.sigma,
        seed=settings.seed,
        bounds=(0.0, 1.0) if target.data.kind == "image" else None,
    )
    if not isinstance(attack, GeodesicAttack):
        return attack
    train = target.data.train
    chosen = torch.linspace(0, len(train) - 1, min(FIT_SAMPLES, len(train))).round().long()
    return attack.fit(train.get(chosen), train.y[chosen])


def _name(settings: AttackSettings, attack: Attack) -> str | None:
    """The name asked for; with several eps each result gets its own."""
    several = "," in settings.eps
    return f"{settings.name}-{attack.label}" if settings.name and several else settings.name


def _print(result: AttackResult, label: str) -> None:
    title = f"{label}, {len(result.index)} images"
    table = Table("", "accuracy", "95% interval", title=title, title_justify="left")
    for name, share in (("clean", result.clean), ("attacked", result.robust)):
        table.add_row(name, f"{share['accuracy']:.1%}", f"{share['low']:.1%} to {share['high']:.1%}")
    console.print(table)
    if "curve" in result.summary:
        points = [f"{point['t']:g}: {point['accuracy']:.1%}" for point in result.summary["curve"]]
        say(f"accuracy at each share of the way to another class: {', '.join(points)}")
    for check in result.checks:
        if not check.passed:
            say(f"check '{check.name}': {check.message}")
    passed = [check.name for check in result.checks if check.passed]
    say(f"checks passed: {', '.join(passed) or 'none'}")
