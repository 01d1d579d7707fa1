"""Attacks by name, and what they will cost."""

from __future__ import annotations

import pytest
import torch

from wassermix.attacks import ATTACKS, FGSM, PGD, GeodesicAttack, estimate_attack, make_attack
from wassermix.core.errors import InputError


@pytest.mark.parametrize("name", ATTACKS)
def test_every_known_attack_is_made_from_the_options_of_a_command(name):
    attack = make_attack(name, eps="8/255", norm="linf", steps=7, restarts=2, sigma=0.25, seed=3)
    assert attack.name == name
    assert attack.seed == 3
    assert attack.parameters()["attack"] == name
    assert attack.label.startswith(name)


def test_options_reach_the_attack():
    attack = make_attack("pgd", eps="0.5", norm="l2", steps=7, restarts=2, loss="margin")
    assert attack == PGD(eps=0.5, norm="l2", steps=7, restarts=2, loss="margin")
    assert make_attack("fgsm", eps=0.1) == FGSM(eps=0.1)
    assert attack.label == "pgd-l2-0.5-7-r2"


def test_an_unknown_attack_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'autoattack'"):
        make_attack("auto-attack")


def test_the_smoothed_attack_asks_for_sigma():
    with pytest.raises(InputError, match="sigma"):
        make_attack("smoothed")


def test_a_cost_counts_passes_and_measures_a_pace(digits):
    class Images:
        y = digits.y

        def get(self, indices):
            return digits.x[indices]

    cost = estimate_attack(digits.net, Images(), torch.arange(100), attack=PGD(steps=10), seconds=0.05)
    assert 100 * 10 < cost.passes < 100 * 10 + 50 * 70 + 100
    assert cost.minutes == pytest.approx(cost.passes / cost.passes_per_second / 60)
    more = estimate_attack(digits.net, Images(), list(range(100)), attack=PGD(steps=20), seconds=0.05)
    assert more.passes == cost.passes + 1000


def test_passes_are_counted_as_forwards_of_the_model(digits):
    attack = GeodesicAttack(times=4, targets=2, pair_size=8).fit(digits.x, digits.y)
    assert attack.passes == pytest.approx(4 * 2 / 3)
    assert PGD(steps=10, restarts=2).passes > 20
