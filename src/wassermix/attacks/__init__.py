"""Attacks: the worst input nearby, and how far the number may be believed."""

from __future__ import annotations

from collections.abc import Callable

from wassermix.attacks.base import Attack
from wassermix.attacks.norms import Norm
from wassermix.attacks.pgd import FGSM, PGD, ascend, input_gradient, margin
from wassermix.attacks.radius import parse_number

ATTACKS: dict[str, Callable[..., Attack]] = {"fgsm": FGSM, "pgd": PGD}

__all__ = ["ATTACKS", "FGSM", "PGD", "Attack", "Norm", "ascend", "input_gradient", "margin", "parse_number"]
