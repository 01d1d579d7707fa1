"""The settings of an attack: the command's options, a table's keys and a Python call's arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wassermix.core.settings import setting

__all__ = ["AttackSettings"]


@dataclass(frozen=True, kw_only=True)
class AttackSettings:
    """Which attack, how strong, on how many samples.

    An attack takes those of the words below that it has (its own signature says which; None leaves its own
    default), and what only it knows from ``options``.
    """

    attack: str = setting(
        "pgd", "fgsm, pgd, smoothed, geodesic or autoattack; an installed one, or package.module:Class"
    )
    norm: Literal["linf", "l2"] = setting("linf", "how eps is measured")
    eps: float = setting(
        8 / 255, "radius on the data scale, such as 8/255; several with commas", several=True
    )
    steps: int = setting(10, "gradient steps")
    restarts: int = setting(1, "random restarts")
    loss: Literal["ce", "margin"] = setting("ce", "what the attack raises")
    step_size: float | None = setting(None, "length of a step; by default 2.5 eps / steps (smoothed: 2)")
    random_start: bool | None = setting(
        None,
        "begin at a random point of the ball; by default as the attack does",
        flag="--random-start/--no-random-start",
    )
    sigma: float | None = setting(
        None, "noise of the smoothed classifier; by default the run's", from_run=True
    )
    t_max: float | None = setting(None, "geodesic: the share of the way to another class, by default 0.5")
    options: dict[str, Any] = setting(
        {}, "an option that only this attack has, such as queries=200", flag="--option"
    )
    allow_any_eps: bool = setting(
        False, "admit a radius whose ball holds every input", identity=False, flag="--allow-any-eps"
    )
    images: int | Literal["all"] = setting(
        500, "how many test samples, evenly spaced, or 'all'", identity=False
    )
    batch_size: int = setting(128, "images attacked at once", identity=False)
    seed: int = setting(0, "seed of this evaluation's random draws", identity=False)
    checks: bool = setting(True, "look for reasons not to believe the number", identity=False, hidden=True)
