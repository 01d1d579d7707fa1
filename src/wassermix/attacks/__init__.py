"""Attacks: the worst input nearby, and how far the number may be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.attacks.ascent import ascend, input_gradient, margin
    from wassermix.attacks.auto import AutoAttack
    from wassermix.attacks.ball import Ball, BallAttack
    from wassermix.attacks.checks import sanity_checks
    from wassermix.attacks.cost import AttackCost, estimate_attack
    from wassermix.attacks.evaluation import AttackTask, attack_curve, evaluate_attack
    from wassermix.attacks.geodesic import GeodesicAttack
    from wassermix.attacks.norms import Norm
    from wassermix.attacks.pgd import FGSM, PGD
    from wassermix.attacks.protocol import Attack, Judgement
    from wassermix.attacks.registry import ATTACKS, make_attack
    from wassermix.attacks.result import AttackResult, Check
    from wassermix.attacks.run import attack_to_files, run_attack
    from wassermix.attacks.settings import AttackSettings
    from wassermix.attacks.smoothed import SmoothedPGD, smoothed_logits
    from wassermix.attacks.surrogate import distil

__all__ = [
    "ATTACKS",
    "FGSM",
    "PGD",
    "Attack",
    "AttackCost",
    "AttackResult",
    "AttackSettings",
    "AttackTask",
    "AutoAttack",
    "Ball",
    "BallAttack",
    "Check",
    "GeodesicAttack",
    "Judgement",
    "Norm",
    "SmoothedPGD",
    "ascend",
    "attack_curve",
    "attack_to_files",
    "distil",
    "estimate_attack",
    "evaluate_attack",
    "input_gradient",
    "make_attack",
    "margin",
    "run_attack",
    "sanity_checks",
    "smoothed_logits",
]

__getattr__ = lazy_names(__name__)
