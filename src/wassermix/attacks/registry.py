"""Attacks by name: one line for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wassermix.core.registry import Registry, typed_options

if TYPE_CHECKING:
    from wassermix.attacks.norms import Bounds
    from wassermix.attacks.protocol import Attack
    from wassermix.attacks.settings import AttackSettings

__all__ = ["ATTACKS", "attack_of", "make_attack"]

ATTACKS = Registry(
    "attack",
    "wassermix.attacks",
    {
        "fgsm": "wassermix.attacks.pgd:FGSM",
        "pgd": "wassermix.attacks.pgd:PGD",
        "smoothed": "wassermix.attacks.smoothed:SmoothedPGD",
        "geodesic": "wassermix.attacks.geodesic:GeodesicAttack",
        "autoattack": "wassermix.attacks.auto:AutoAttack",
    },
)
"""The attacks known by name."""

SHARED = (
    "norm", "eps", "steps", "restarts", "loss", "step_size", "random_start", "t_max", "seed", "allow_any_eps",
)  # fmt: skip
"""The settings that many attacks have."""


def make_attack(settings: AttackSettings, *, bounds: Bounds = (0.0, 1.0)) -> Attack:
    """The attack that the settings name, given those of their words that it has.

    ``bounds`` is the range of the inputs, None for vectors without a scale. An attack that learns from
    training samples is not ready yet: see :meth:`Attack.prepare`.
    """
    words = {key: getattr(settings, key) for key in SHARED}
    context = {key: value for key, value in words.items() if value is not None}
    context |= {"sigma": settings.sigma or 0.0, "bounds": bounds}
    what = f"attack '{settings.attack}'"
    options = typed_options(ATTACKS.find(settings.attack), settings.options, what=what)
    return _required(ATTACKS.make(settings.attack, options, context), what)


def attack_of(parameters: Mapping[str, Any]) -> Attack:
    """The attack that a result file's parameters describe, without what it learned from samples."""
    known = {key: tuple(v) if isinstance(v, list) else v for key, v in parameters.items()}
    name = str(known.pop("attack"))
    return _required(ATTACKS.make(name, {}, known), f"attack '{name}'")


def _required(made: Any, what: str) -> Attack:
    from wassermix.attacks.protocol import Attack
    from wassermix.core.errors import InputError

    if not isinstance(made, Attack):
        raise InputError(
            f"{what} makes a {type(made).__name__}; expected a subclass of wassermix.attacks.Attack"
        )
    return made
