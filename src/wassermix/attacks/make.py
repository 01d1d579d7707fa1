"""From an attack's name and the options of a command line to the attack."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Literal

from wassermix.attacks.auto import AutoAttack
from wassermix.attacks.base import Attack
from wassermix.attacks.geodesic import GeodesicAttack
from wassermix.attacks.norms import Norm
from wassermix.attacks.pgd import FGSM, PGD
from wassermix.attacks.radius import Bounds, parse_number
from wassermix.attacks.smoothed import SmoothedPGD
from wassermix.core.errors import InputError

__all__ = ["ATTACKS", "make_attack"]

ATTACKS: dict[str, Callable[..., Attack]] = {
    "fgsm": FGSM,
    "pgd": PGD,
    "smoothed": SmoothedPGD,
    "geodesic": GeodesicAttack,
    "autoattack": AutoAttack,
}
"""The attacks known by name."""


def make_attack(
    name: str,
    *,
    eps: float | str = 8 / 255,
    norm: Norm = "linf",
    steps: int = 10,
    restarts: int = 1,
    loss: Literal["ce", "margin"] = "ce",
    sigma: float | None = None,
    t_max: float = 0.5,
    seed: int = 0,
    bounds: Bounds = (0.0, 1.0),
    allow_any_eps: bool = False,
) -> Attack:
    """The attack called ``name``, given those of the options that it has.

    ``fgsm`` has no steps or restarts, ``autoattack`` sets its own, ``smoothed`` needs ``sigma``, and
    ``geodesic`` takes ``t_max`` for a radius and must be fitted to training samples before it is used.
    """
    radius = parse_number(eps)
    if name == "fgsm":
        return FGSM(eps=radius, norm=norm, loss=loss, seed=seed, bounds=bounds, allow_any_eps=allow_any_eps)
    if name == "pgd":
        return PGD(
            eps=radius,
            norm=norm,
            steps=steps,
            restarts=restarts,
            loss=loss,
            seed=seed,
            bounds=bounds,
            allow_any_eps=allow_any_eps,
        )
    if name == "smoothed":
        return SmoothedPGD(
            eps=radius,
            norm=norm,
            steps=steps,
            sigma=_needed(sigma),
            seed=seed,
            bounds=bounds,
            allow_any_eps=allow_any_eps,
        )
    if name == "autoattack":
        return AutoAttack(eps=radius, norm=norm, seed=seed, bounds=bounds, allow_any_eps=allow_any_eps)
    if name == "geodesic":
        return GeodesicAttack(t_max=t_max, seed=seed, bounds=bounds)
    close = difflib.get_close_matches(name.lower(), ATTACKS, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    raise InputError(f"attack '{name}' is unknown; {hint}known are {', '.join(ATTACKS)}")


def _needed(sigma: float | None) -> float:
    if not sigma:
        raise InputError("the attack 'smoothed' needs the noise of the smoothed classifier; give sigma > 0")
    return sigma
