"""The attack on a smoothed classifier against its closed form for a linear one, and its own formula."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from wassermix.attacks import PGD, SmoothedPGD, evaluate_attack, smoothed_logits
from wassermix.attacks.norms import length
from wassermix.attacks.smoothed import votes
from wassermix.core.errors import InputError
from wassermix.core.streams import stream


def test_the_loss_is_minus_the_log_of_the_mean_probability(digits):
    x, y = digits.x[:4], digits.y[:4]
    noise = torch.randn(3, 4, 1, 14, 14, generator=stream(0, "noise")) * 0.3
    by_hand = -torch.stack([digits.net(x + one).softmax(1) for one in noise]).mean(0)[range(4), y].log()
    loss = F.cross_entropy(smoothed_logits(digits.net, noise)(x), y, reduction="none")
    torch.testing.assert_close(loss, by_hand)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_it_keeps_to_ball_and_box_and_restores_the_model(digits, norm):
    net = copy.deepcopy(digits.net).train()
    attack = SmoothedPGD(eps=0.2, norm=norm, steps=3, sigma=0.1)
    x_adv = attack(net, digits.x[:5], digits.y[:5])
    assert net.training
    assert 0 <= x_adv.min() <= x_adv.max() <= 1
    assert torch.all(length(x_adv - digits.x[:5], norm) <= 0.2 + 1e-5)
    assert torch.equal(x_adv, attack(net, digits.x[:5], digits.y[:5]))


def test_a_smoothed_linear_classifier_is_pushed_straight_across_its_boundary():
    w = torch.tensor([3.0, -4.0], dtype=torch.float64)
    x = torch.tensor([[0.5, 0.2], [1.0, 0.5]], dtype=torch.float64)

    def model(x):
        return torch.stack([-(x @ w), x @ w], dim=1)

    attack = SmoothedPGD(eps=0.3, steps=5, sigma=0.25, noises=8, bounds=None)
    x_adv = attack(model, x, torch.ones(2).long())
    torch.testing.assert_close(x_adv, x - 0.3 * w / 5)


def test_it_hurts_the_smoothed_classifier_more_than_the_plain_attack(digits):
    x, y = digits.x[::5], digits.y[::5]
    smoothed = SmoothedPGD(eps=0.6, steps=8, sigma=0.25, noises=16)
    plain = PGD(eps=0.6, norm="l2", steps=8, step_size=smoothed.step, random_start=False, box_first=True)
    fresh = torch.randn(64, *x.shape, generator=stream(7, "fresh")) * 0.25

    def loss(x_adv):
        with torch.no_grad():
            return float(F.cross_entropy(smoothed_logits(digits.net, fresh)(x_adv), y))

    assert loss(smoothed(digits.net, x, y)) > loss(plain(digits.net, x, y)) > loss(x)


def test_every_draw_is_one_vote(digits):
    tally = votes(digits.net, digits.x[:6], 0.1, count=9, generator=stream(0, "votes"))
    assert tally.shape == (6, 10)
    assert torch.all(tally.sum(1) == 9)
    still = votes(digits.net, digits.x[:6], 0.0, count=2, generator=stream(0, "votes"))
    assert torch.equal(still.argmax(1), digits.net(digits.x[:6]).argmax(1))


def test_its_number_is_that_of_the_voting_classifier(digits):
    result = evaluate_attack(
        digits.net,
        digits.x[::25],
        digits.y[::25],
        attack=SmoothedPGD(eps=0.3, steps=2, sigma=0.1, votes=20),
        check=False,
    )
    assert result.parameters["sigma"] == 0.1
    assert result.parameters["step_size"] == pytest.approx(0.3)
    assert result.robust.count <= result.clean.count


@pytest.mark.parametrize("attack", [PGD, SmoothedPGD])
@pytest.mark.parametrize("step", [-0.1, float("inf")])
def test_a_step_that_is_no_length_is_refused(attack, step):
    with pytest.raises(InputError, match=f"step_size is {step}"):
        attack(eps=0.5, step_size=step)


@pytest.mark.parametrize("attack", [PGD, SmoothedPGD])
def test_a_given_step_may_be_a_fraction_and_follows_the_radius(attack):
    given = attack(eps=0.5, step_size="1/4")
    assert given.step == 0.25
    assert given.with_eps(0.1).step == pytest.approx(0.05)
    assert attack(eps=0.0, step_size=0.25).with_eps(0.1).step == attack(eps=0.1).step


@pytest.mark.parametrize("attack", [PGD, SmoothedPGD])
def test_an_infinite_radius_needs_a_step_and_leaves_it_as_it_is(attack):
    with pytest.raises(InputError, match=r"needs a step_size; the default is 2(\.5)? \* eps / steps"):
        attack(eps=float("inf"), allow_any_eps=True)
    given = attack(eps=0.5, step_size=0.25, allow_any_eps=True)
    assert given.with_eps(float("inf")).step == 0.25
    assert given.with_eps(float("inf")).with_eps(float("inf")).step == 0.25
    assert given.with_eps(float("inf")).with_eps(0.1).step == attack(eps=0.1).step


def test_noise_of_zero_is_refused():
    with pytest.raises(InputError, match="sigma > 0"):
        SmoothedPGD(sigma=0.0)
    with pytest.raises(InputError, match="noises=0"):
        SmoothedPGD(noises=0)
