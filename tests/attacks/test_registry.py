"""Attacks by name and settings, and what they will cost."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from wassermix.attacks import (
    ATTACKS,
    FGSM,
    PGD,
    AttackSettings,
    BallAttack,
    GeodesicAttack,
    SmoothedPGD,
    estimate_attack,
    evaluate_attack,
    make_attack,
)
from wassermix.core.errors import InputError
from wassermix.core.samples import TensorSamples


@dataclass(frozen=True, kw_only=True)
class Corner(BallAttack):
    """An attack of the user's own: a corner of the ball, drawn by chance."""

    name: ClassVar[str] = "corner"
    tries: int = 3

    passes = 1.0

    def perturb(self, model, x, y, *, generator):
        return x + self.eps * torch.randn(x.shape, generator=generator).sign()


def own_name() -> str:
    sys.modules.setdefault("corner_of_tests", sys.modules[__name__])
    return "corner_of_tests:Corner"


@pytest.mark.parametrize("name", ATTACKS.shipped)
def test_every_shipped_attack_is_made_from_the_settings_it_has(name):
    attack = make_attack(AttackSettings(attack=name, steps=7, restarts=2, sigma=0.25, seed=3))
    assert attack.name == name
    assert attack.seed == 3
    assert attack.parameters()["attack"] == name
    assert attack.label.startswith(name)
    assert set(attack.identity_keys) - {"embed"} <= attack.parameters().keys()


def test_settings_reach_the_attack():
    made = make_attack(AttackSettings(eps=0.5, norm="l2", steps=7, restarts=2, loss="margin"))
    assert made == PGD(eps=0.5, norm="l2", steps=7, restarts=2, loss="margin")
    assert made.label == "pgd-l2-0.5-7-r2"
    assert made.title == "PGD ℓ2 ε=0.5 7 steps 2 restarts"
    assert make_attack(AttackSettings(attack="fgsm", eps=0.1)) == FGSM(eps=0.1)
    paper = make_attack(AttackSettings(eps=2.0, norm="l2", steps=4, step_size=1.0, random_start=False))
    assert paper == PGD(eps=2.0, norm="l2", steps=4, step_size=1.0, random_start=False)
    assert make_attack(AttackSettings(attack="geodesic", t_max=0.3)).t_max == 0.3


def test_two_walks_in_one_ball_have_files_and_titles_of_their_own():
    usual = PGD(eps=2.0, norm="l2", steps=4)
    paper = PGD(eps=2.0, norm="l2", steps=4, step_size=1.0, random_start=False)
    assert (usual.label, paper.label) == ("pgd-l2-2-4", "pgd-l2-2-4-step-1-from-x")
    assert paper.title == "PGD ℓ2 ε=2 4 steps, step 1, from x"
    longer = SmoothedPGD(eps=0.5, steps=10, sigma=0.25, step_size=0.2)
    assert longer.label == "smoothed-l2-0.5-10-s0.25-step-0.2"
    assert longer.title.endswith("10 steps, step 0.2")


def test_the_usual_walk_keeps_the_names_of_files_that_exist():
    given = [PGD(eps=0.3, steps=7), PGD(eps=0.3, steps=7, step_size=2.5 * 0.3 / 7, random_start=True)]
    assert {attack.label for attack in given} == {"pgd-linf-0.3-7"}
    assert {attack.title for attack in given} == {"PGD ℓ∞ ε=0.3 7 steps"}
    assert FGSM(eps=0.1).label == "fgsm-linf-0.1-1"
    smoothed = [SmoothedPGD(sigma=0.5), SmoothedPGD(sigma=0.5, step_size=0.1)]
    assert {attack.label for attack in smoothed} == {"smoothed-l2-0.5-10-s0.5"}


def test_an_attack_of_the_users_own_is_used_like_a_shipped_one(digits):
    settings = AttackSettings(attack=own_name(), eps=0.3, options={"tries": "5"})
    attack = make_attack(settings)
    assert attack == Corner(eps=0.3, tries=5)
    assert attack.title == "corner ℓ∞ ε=0.3"
    result = evaluate_attack(digits.net, digits.x[::20], digits.y[::20], attack=attack)
    assert ("tries", 5) in result.identity
    assert {"transfer", "strength", "black box"} <= {check.name for check in result.checks}
    assert result.robust.count <= result.clean.count


def test_options_that_an_attack_does_not_have_or_cannot_read_are_named():
    with pytest.raises(InputError, match="did you mean 'queries'"):
        make_attack(AttackSettings(attack="autoattack", options={"query": 3}))
    with pytest.raises(InputError, match="option queries is 'many'"):
        make_attack(AttackSettings(attack="autoattack", options={"queries": "many"}))


def test_an_unknown_attack_names_the_nearest_and_what_is_no_attack_is_refused():
    with pytest.raises(InputError, match="did you mean 'autoattack'"):
        make_attack(AttackSettings(attack="auto-attack"))
    with pytest.raises(InputError, match=r"expected a subclass of wassermix\.attacks\.Attack"):
        make_attack(AttackSettings(attack="fractions:Fraction"))


def test_the_smoothed_attack_asks_for_sigma():
    with pytest.raises(InputError, match="sigma"):
        make_attack(AttackSettings(attack="smoothed"))


def test_a_radius_without_a_limit_has_a_setting_that_the_error_names():
    with pytest.raises(InputError, match="--allow-any-eps"):
        make_attack(AttackSettings(eps=2.0))
    assert make_attack(AttackSettings(eps=2.0, allow_any_eps=True)).eps == 2.0


def test_a_cost_counts_passes_and_measures_a_pace(digits):
    images = TensorSamples(digits.x, digits.y)
    cost = estimate_attack(digits.net, images, torch.arange(100), attack=PGD(steps=10), seconds=0.05)
    assert 100 * 10 < cost.passes < 100 * 10 + 50 * 70 + 200
    assert cost.minutes == pytest.approx(cost.passes / cost.passes_per_second / 60)
    more = estimate_attack(digits.net, images, list(range(100)), attack=PGD(steps=20), seconds=0.05)
    assert more.passes == cost.passes + 1000


def test_passes_are_counted_as_forwards_of_the_model(digits):
    attack = GeodesicAttack(times=4, targets=2, pair_size=8).fit(digits.x, digits.y)
    assert attack.passes == pytest.approx(4 * 2 / 3)
    assert PGD(steps=10, restarts=2).passes > 20
    assert SmoothedPGD(steps=10, noises=4, votes=3).passes == 42
