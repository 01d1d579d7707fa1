"""``wassermix attack``: what an attack leaves of a model's accuracy, into its run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from rich.table import Table

from wassermix.attacks import (
    AttackResult,
    AttackSettings,
    BallAttack,
    estimate_attack,
    make_attack,
    run_attack,
)
from wassermix.cli.console import console, counted, say
from wassermix.cli.target import Target
from wassermix.core.errors import InputError
from wassermix.core.job import Output
from wassermix.core.processes import rank
from wassermix.core.samples import evenly_spaced
from wassermix.core.settings import settings_from
from wassermix.engine import distributed

__all__ = ["attack_target"]


@distributed.process_group()
def attack_target(
    target: Target,
    given: Mapping[str, Any],
    *,
    name: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> list[dict[str, Any]]:
    """Attack at each eps, print what survives, and print the checks that did not pass.

    ``given`` are settings by name, ``eps`` one radius or several; the noise is the run's own where it is
    not among them. With several radii an image fooled within one counts as fooled within those above.
    Returns a record for each radius.
    """
    asked = _settings(target, given)
    # All are made before the first one runs: a mistake in the last eps should not cost hours.
    attacks = [make_attack(settings, bounds=target.bounds) for settings in asked]
    if len(asked) > 1 and not isinstance(attacks[0], BallAttack):
        raise InputError(f"attack {attacks[0].name} has no radius; leave --eps out")
    result, records = None, []
    for settings, attack in zip(asked, attacks):
        if dry_run:
            images = evenly_spaced(len(target.split), None if settings.images == "all" else settings.images)
            ready = attack.prepare(target.data.train)
            cost = estimate_attack(target.model, target.split, images, attack=ready)
            say(f"{attack.label}: at most {cost.passes:,} passes, {cost.minutes:.1f} minutes here")
            records.append({"attack": attack.label, **asdict(cost), "minutes": cost.minutes})
            continue
        named = f"{name}-{attack.label}" if name and len(asked) > 1 else name
        with counted(f"attacking {target.folder.name}") as progress:
            result = run_attack(
                target.model,
                target.split,
                settings,
                output=Output(target.folder / "attack", named, resume, overwrite, suffix=target.suffix),
                train=target.data.train,
                bounds=target.bounds,
                about=target.about(),
                after=result,
                progress=progress,
            )
        if rank() == 0:
            _print(result, attack.label)
            records.append(result.record())
    return records


def _settings(target: Target, given: Mapping[str, Any]) -> list[AttackSettings]:
    """The settings for each radius, smallest first."""
    radii = given.get("eps", AttackSettings.eps)
    radii = sorted(radii) if isinstance(radii, Sequence) else [radii]
    common = {"sigma": target.sigma, **given}
    made = settings_from(AttackSettings, {**common, "eps": radii[0]}, where="attack")
    return [replace(made, eps=eps) for eps in radii]


def _print(result: AttackResult, label: str) -> None:
    title = f"{label}, {len(result.index)} images"
    table = Table("", "accuracy", "95% interval", title=title, title_justify="left")
    for name, share in (("clean", result.clean), ("attacked", result.robust)):
        table.add_row(name, f"{share.accuracy:.1%}", f"{share.low:.1%} to {share.high:.1%}")
    console.print(table)
    if "curve" in result.summary:
        points = [f"{point['t']:g}: {point['accuracy']:.1%}" for point in result.summary["curve"]]
        say(f"accuracy at each share of the way to another class: {', '.join(points)}")
    for check in result.checks:
        if not check.passed:
            say(f"check '{check.name}': {check.message}")
    passed = [check.name for check in result.checks if check.passed]
    say(f"checks passed: {', '.join(passed) or 'none'}")
