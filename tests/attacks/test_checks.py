"""Each sanity check is tripped by a model built to trip it, and silent on an honest one."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from wassermix.attacks import (
    FGSM,
    PGD,
    AutoAttack,
    GeodesicAttack,
    SmoothedPGD,
    distil,
    evaluate_attack,
    sanity_checks,
)
from wassermix.attacks.checks import (
    check_black_box,
    check_deterministic,
    check_gradients,
    check_logits,
    check_mode,
    check_scale,
    check_steps,
    check_strength,
    check_transfer,
    check_unbounded,
    in_training,
)

ATTACKS = [
    PGD(eps=0.06, steps=10),
    PGD(eps=0.4, norm="l2", steps=10),
    FGSM(eps=0.06),
    FGSM(eps=0.4, norm="l2"),
    SmoothedPGD(eps=0.4, sigma=0.1),
    PGD(eps=0.06, steps=10, loss="margin"),
]


@pytest.fixture(scope="module")
def few(digits):
    """Fifty images that the honest net gets right."""
    right = (digits.net(digits.x).argmax(1) == digits.y).nonzero().squeeze(1)
    rows = right[torch.linspace(0, len(right) - 1, 50).long()]
    return digits.x[rows], digits.y[rows]


def quantised(net, levels=4):
    """The net behind a staircase: the same classes to the eye, no gradient anywhere."""
    return lambda x: net(torch.round(x * levels) / levels)


class Straying(torch.autograd.Function):
    """The identity, with a gradient that is true at the start and points the wrong way elsewhere."""

    @staticmethod
    def forward(ctx, x, anchor):
        ctx.moved = bool((x - anchor).abs().max() > 1e-6)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return (-gradient if ctx.moved else gradient), None


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.label)
def test_an_honest_net_passes_every_check_but_the_strength_of_a_weak_attack(digits, few, attack):
    checks = sanity_checks(digits.net, *few, attack=attack, surrogate=distil(digits.net, few[0]))
    failed = [check for check in checks if not check.passed]
    assert [check.name for check in failed] == ["strength"]
    assert "upper bound" in failed[0].message
    names = [check.name for check in checks]
    assert len(set(names)) == len(names) == 10


def test_a_net_in_training_mode_is_noticed(digits):
    assert not check_mode(in_training(copy.deepcopy(digits.net).train())).passed
    assert check_mode(in_training(digits.net)).passed
    assert not in_training(lambda x: x)


@pytest.mark.parametrize(
    ("scale", "passed", "word"), [(1, True, "run"), (255, False, "outside"), (1 / 255, False, "twice")]
)
def test_inputs_off_scale_are_noticed(few, scale, passed, word):
    check = check_scale(few[0] * scale, (0.0, 1.0))
    assert check.passed is passed
    assert word in check.message


def test_vectors_without_bounds_have_no_scale_to_miss():
    assert check_scale(torch.randn(3, 4) * 100, None).passed


def test_a_randomised_net_is_noticed(digits, few):
    generator = torch.Generator().manual_seed(0)
    noisy = lambda x: digits.net(x + 0.1 * torch.randn(x.shape, generator=generator))  # noqa: E731
    assert not check_deterministic(noisy, few[0]).passed
    assert check_deterministic(digits.net, few[0]).passed


def test_dropout_is_no_randomness_once_in_eval_mode(digits, few):
    net = nn.Sequential(nn.Dropout(0.5), copy.deepcopy(digits.net)).train()
    assert check_deterministic(net, few[0]).passed
    assert net.training


def test_probabilities_are_noticed_and_their_logarithms_are_fine(digits, few):
    assert not check_logits(lambda x: digits.net(x).softmax(1), few[0]).passed
    assert check_logits(lambda x: digits.net(x).log_softmax(1), few[0]).passed


@pytest.mark.parametrize("loss", ["ce", "margin"])
def test_a_staircase_has_no_gradients(digits, few, loss):
    check = check_gradients(quantised(digits.net), *few, attack=PGD(loss=loss))
    assert not check.passed
    assert "50 of 50" in check.message


def test_outputs_scaled_until_the_loss_is_flat_are_noticed(digits, few):
    sharp = lambda x: digits.net(x) * 1e4  # noqa: E731
    assert not check_gradients(sharp, *few, attack=PGD(loss="ce")).passed
    assert check_gradients(sharp, *few, attack=PGD(loss="margin")).passed


@pytest.mark.parametrize("attack", [PGD(eps=0.06), PGD(eps=0.4, norm="l2")], ids=["linf", "l2"])
def test_one_step_stronger_than_many_is_noticed(digits, few, attack):
    straying = lambda x: digits.net(Straying.apply(x, few[0]))  # noqa: E731
    attack = PGD(eps=attack.eps, norm=attack.norm, random_start=False)
    assert not check_steps(straying, *few, attack=attack).passed
    assert check_steps(digits.net, *few, attack=attack).passed


@pytest.mark.parametrize("attack", [PGD(eps=0.12), PGD(eps=1.0, norm="l2")], ids=["linf", "l2"])
def test_random_queries_that_beat_the_gradient_are_noticed(digits, few, attack):
    backwards = lambda x: digits.net(Straying.apply(x, torch.full_like(x, -1)))  # noqa: E731
    assert not check_black_box(backwards, *few, attack=attack).passed
    assert check_black_box(digits.net, *few, attack=attack).passed


def test_transfer_that_beats_the_own_gradient_is_noticed(digits, few):
    attack = PGD(eps=0.06)
    assert not check_transfer(quantised(digits.net), *few, attack=attack, surrogate=digits.net).passed
    assert check_transfer(digits.net, *few, attack=attack, surrogate=quantised(digits.net)).passed


def test_a_net_that_withstands_everything_is_noticed(digits, few):
    backwards = lambda x: digits.net(Straying.apply(x, torch.full_like(x, -1)))  # noqa: E731
    assert not check_unbounded(backwards, *few).passed
    assert check_unbounded(digits.net, *few).passed


def test_the_unbounded_check_works_on_vectors_without_bounds():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    linear = lambda x: torch.stack([x[:, 0], -x[:, 0]], 1)  # noqa: E731
    assert check_unbounded(linear, x, (x[:, 0] < 0).long(), bounds=None).passed


def test_strength_asks_for_restarts_or_autoattack():
    weak = PGD(eps=0.1)
    assert not check_strength(weak).passed
    assert check_strength(weak, beside="AutoAttack ℓ∞ ε=0.1").passed
    assert check_strength(PGD(eps=0.1, restarts=5)).passed
    assert check_strength(AutoAttack(eps=0.1)).passed
    assert check_strength(GeodesicAttack()).passed
    assert "certify" in check_strength(SmoothedPGD()).message


def test_no_images_leave_only_what_needs_none(digits):
    checks = sanity_checks(digits.net, digits.x[:0], digits.y[:0], attack=PGD(eps=0.1))
    assert [check.name for check in checks] == ["eval mode", "strength"]


def test_a_surrogate_adds_the_transfer_check(digits, few):
    checks = sanity_checks(
        digits.net, few[0][:5], few[1][:5], attack=PGD(eps=0.06, steps=3), surrogate=digits.net
    )
    assert "transfer" in [check.name for check in checks]


def shattered(net):
    """The net behind a ripple of half the radius: the same classes, gradients that point anywhere."""
    return lambda x: net(x + 0.05 * torch.sin(400 * x))


@pytest.mark.parametrize("attack", [PGD(eps=0.1), PGD(eps=1.0, norm="l2")], ids=["linf", "l2"])
def test_shattered_gradients_are_found_by_what_a_small_copy_teaches(digits, attack):
    x, y = digits.x[::2], digits.y[::2]
    checks = {c.name: c for c in evaluate_attack(shattered(digits.net), x, y, attack=attack).checks}
    assert not checks["transfer"].passed
    assert "masked" in checks["transfer"].message
    honest = {c.name: c for c in evaluate_attack(digits.net, x, y, attack=attack).checks}
    assert honest["transfer"].passed


def test_a_small_copy_agrees_with_its_model_and_leaves_everything_as_it_was(digits):
    net = copy.deepcopy(digits.net)
    net.zero_grad(set_to_none=True)
    state, weights = torch.get_rng_state(), [p.clone() for p in net.parameters()]
    copied = distil(net, digits.x)
    agree = (copied(digits.x).argmax(1) == net(digits.x).argmax(1)).float().mean()
    assert agree > 0.85
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(weights, net.parameters()))
    assert torch.equal(copied(digits.x[:3]), distil(net, digits.x)(digits.x[:3]))
