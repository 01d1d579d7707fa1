"""Attacks: the worst input nearby, and how far the number may be believed."""

from __future__ import annotations

from wassermix.attacks.auto import AutoAttack
from wassermix.attacks.base import Attack, BallAttack
from wassermix.attacks.checks import Check, sanity_checks
from wassermix.attacks.cost import AttackCost, estimate_attack
from wassermix.attacks.evaluation import AttackResult, attack_curve, evaluate_attack
from wassermix.attacks.files import attack_to_files, read_attack
from wassermix.attacks.geodesic import GeodesicAttack
from wassermix.attacks.make import ATTACKS, make_attack
from wassermix.attacks.norms import Norm
from wassermix.attacks.pgd import FGSM, PGD, ascend, input_gradient, margin
from wassermix.attacks.radius import parse_number
from wassermix.attacks.smoothed import SmoothedPGD, smoothed_logits

__all__ = [
    "ATTACKS",
    "FGSM",
    "PGD",
    "Attack",
    "AttackCost",
    "AttackResult",
    "AutoAttack",
    "BallAttack",
    "Check",
    "GeodesicAttack",
    "Norm",
    "SmoothedPGD",
    "ascend",
    "attack_curve",
    "attack_to_files",
    "estimate_attack",
    "evaluate_attack",
    "input_gradient",
    "make_attack",
    "margin",
    "parse_number",
    "read_attack",
    "sanity_checks",
    "smoothed_logits",
]
