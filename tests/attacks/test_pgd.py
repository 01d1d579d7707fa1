"""FGSM and PGD against closed forms for linear classifiers, foolbox, and what every attack promises."""

from __future__ import annotations

import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from wassermix.attacks import FGSM, PGD
from wassermix.attacks.ascent import ascend, input_gradient, margin
from wassermix.attacks.ball import Ball
from wassermix.attacks.norms import length
from wassermix.attacks.protocol import fooled
from wassermix.core.errors import InputError
from wassermix.core.streams import stream

EPS = {"l2": 0.6, "linf": 0.06}
EVERY_ATTACK = [
    FGSM(eps=0.06),
    FGSM(eps=0.6, norm="l2"),
    PGD(eps=0.06, steps=4),
    PGD(eps=0.6, norm="l2", steps=4),
    PGD(eps=0.6, norm="l2", steps=4, restarts=3, loss="margin"),
    PGD(eps=0.06, steps=3, random_start=False, box_first=True),
]


def two_class_linear(w):
    """Logits (0, <w, x>): class 1 has margin <w, x>."""
    return lambda x: torch.stack([torch.zeros(len(x), dtype=x.dtype), x.flatten(1) @ w], dim=1)


@pytest.mark.parametrize("attack", [FGSM, partial(PGD, random_start=False)], ids=["fgsm", "pgd"])
@pytest.mark.parametrize("loss", ["ce", "margin"])
@pytest.mark.parametrize(("norm", "dual"), [("l2", 2), ("linf", 1)])
def test_a_linear_margin_falls_by_eps_times_the_dual_norm(attack, loss, norm, dual):
    w = torch.randn(7, generator=stream(0, "w"), dtype=torch.float64)
    x = torch.randn(9, 7, generator=stream(1, "x"), dtype=torch.float64)
    x_adv = attack(eps=0.3, norm=norm, loss=loss, bounds=None)(two_class_linear(w), x, torch.ones(9).long())
    torch.testing.assert_close(x @ w - x_adv @ w, torch.full((9,), 0.3 * float(w.norm(p=dual))).double())


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_a_linear_classifier_is_fooled_exactly_within_its_margin(norm):
    w = torch.randn(6, generator=stream(0, "w"), dtype=torch.float64)
    x = torch.randn(200, 6, generator=stream(1, "x"), dtype=torch.float64)
    model, y = two_class_linear(w), (x @ w > 0).long()
    distance = (x @ w).abs() / w.norm(p=2 if norm == "l2" else 1)
    x_adv = PGD(eps=0.25, norm=norm, steps=50, bounds=None)(model, x, y)
    assert torch.equal(fooled(model, x_adv, y), distance < 0.25)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("steps", [1, 4, 20])
def test_pgd_agrees_with_foolbox_at_equal_parameters(digits, norm, steps):
    foolbox = pytest.importorskip("foolbox")
    attack = PGD(eps=EPS[norm], norm=norm, steps=steps, random_start=False)
    theirs = {"l2": foolbox.attacks.L2PGD, "linf": foolbox.attacks.LinfPGD}[norm]
    theirs = theirs(abs_stepsize=attack.step, rel_stepsize=None, steps=steps, random_start=False)
    wrapped = foolbox.PyTorchModel(digits.net, bounds=(0, 1), device="cpu")
    _, x_theirs, _ = theirs(wrapped, digits.x, digits.y, epsilons=attack.eps)
    ours = fooled(digits.net, attack(digits.net, digits.x, digits.y), digits.y)
    assert len(ours) == 500
    assert 100 < int(ours.sum()) < 480  # neither trivial end
    assert int((ours != fooled(digits.net, x_theirs, digits.y)).sum()) <= 1


@pytest.mark.parametrize("attack", EVERY_ATTACK, ids=repr)
@pytest.mark.parametrize("count", [1, 7])
def test_every_attack_keeps_its_promises(digits, attack, count):
    net, x, y = copy.deepcopy(digits.net), digits.x[:count].clone(), digits.y[:count]
    net.zero_grad(set_to_none=True)
    before = x.clone()
    net.train()
    net[0].eval()
    net[0].requires_grad_(False)
    wanted = [p.requires_grad for p in net.parameters()]
    x_adv = attack(net, x, y)
    assert x_adv.shape == x.shape
    assert not x_adv.requires_grad
    assert torch.equal(x, before)
    assert 0 <= x_adv.min() <= x_adv.max() <= 1
    assert torch.all(length(x_adv - x, attack.norm) <= attack.eps * (1 + 1e-5))
    assert [m.training for m in net][:2] == [False, True]
    assert [p.requires_grad for p in net.parameters()] == wanted
    assert all(p.grad is None for p in net.parameters())
    assert torch.equal(x_adv, attack(net, x, y))  # the same seed gives the same answer


@pytest.mark.parametrize("attack", EVERY_ATTACK, ids=repr)
def test_soft_labels_that_are_certain_attack_as_hard_ones_do(digits, attack):
    x, y = digits.x[:5], digits.y[:5]
    hard, soft = attack(digits.net, x, y), attack(digits.net, x, F.one_hot(y, 10).double())
    torch.testing.assert_close(hard, soft)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_attacks_work_in_float64_and_in_channels_last(digits, norm):
    attack = PGD(eps=EPS[norm], norm=norm, steps=4, random_start=False)
    plain = attack(digits.net, digits.x[:8], digits.y[:8])
    last = attack(digits.net, digits.x[:8].to(memory_format=torch.channels_last), digits.y[:8])
    torch.testing.assert_close(plain, last)
    double = attack(lambda x: digits.net(x.float()).double(), digits.x[:8].double(), digits.y[:8])
    assert double.dtype == torch.float64
    torch.testing.assert_close(plain.double(), double, atol=1e-3, rtol=0)


def test_an_image_once_fooled_stays_fooled_with_more_restarts(digits):
    images = digits.x[::5], digits.y[::5]
    flags = [
        fooled(digits.net, PGD(eps=0.4, norm="l2", steps=2, restarts=n)(digits.net, *images), images[1])
        for n in (1, 2, 6)
    ]
    assert torch.all(flags[0] <= flags[1])
    assert torch.all(flags[1] <= flags[2])
    assert flags[2].sum() > flags[0].sum()


def test_attacks_work_without_gradients_outside_and_in_inference_mode(digits):
    attack = PGD(eps=0.06, steps=2)
    plain = attack(digits.net, digits.x[:3], digits.y[:3])
    with torch.no_grad():
        assert torch.equal(attack(digits.net, digits.x[:3], digits.y[:3]), plain)
    with torch.inference_mode():
        assert torch.equal(attack(digits.net, digits.x[:3] + 0, digits.y[:3] + 0), plain)


def test_an_empty_batch_and_a_zero_radius_give_the_inputs_back(digits):
    attack = PGD(eps=0.06, steps=2)
    assert attack(digits.net, digits.x[:0], digits.y[:0]).shape == (0, 1, 14, 14)
    assert torch.equal(PGD(eps=0.0, steps=2)(digits.net, digits.x[:3], digits.y[:3]), digits.x[:3])


def test_a_generator_is_used_in_place_of_the_seed(digits):
    attack = PGD(eps=0.06, steps=2)
    first, again, other = (
        attack(digits.net, digits.x[:3], digits.y[:3], generator=stream(seed, "mine")) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_global_random_state_is_left_alone(digits):
    before = torch.get_rng_state()
    PGD(eps=0.06, steps=1)(digits.net, digits.x[:3], digits.y[:3])
    assert torch.equal(before, torch.get_rng_state())


def test_margin_is_the_best_other_logit_less_the_labels_own():
    logits = torch.tensor([[1.0, 3.0, 2.0], [5.0, 0.0, -1.0]])
    torch.testing.assert_close(margin(logits, torch.tensor([1, 1])), torch.tensor([-1.0, 5.0]))


def test_a_score_that_ignores_the_input_or_is_nan_has_gradient_zero():
    x = torch.zeros(2, 3)
    assert input_gradient(lambda x: torch.ones(2), x).abs().sum() == 0
    assert input_gradient(lambda x: x.sum(1) / 0.0 * 0.0, x).abs().sum() == 0


@pytest.mark.parametrize("box_first", [False, True])
def test_an_infinite_radius_leaves_only_the_box(box_first):
    x = torch.full((2, 3), 0.5)
    top = ascend(
        lambda x: x.sum(1),
        x,
        x,
        ball=Ball(float("inf"), box_first=box_first),
        steps=20,
        step_size=0.1,
    )
    assert torch.equal(top, torch.ones(2, 3))


def test_clipping_before_projecting_keeps_more_of_a_step_that_leaves_the_box():
    w, x, y = torch.tensor([-3.0, -4.0]), torch.tensor([[0.5, 1.0]]), torch.tensor([1])
    model = two_class_linear(w)
    common = {"eps": 0.2, "norm": "l2", "steps": 1, "step_size": 0.4, "random_start": False}
    late = PGD(**common)(model, x, y)
    early = PGD(**common, box_first=True)(model, x, y)
    torch.testing.assert_close(late, torch.tensor([[0.62, 1.0]]))
    torch.testing.assert_close(early, torch.tensor([[0.7, 1.0]]))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.full((2, 1, 2, 2), 3.0), r"run from 3 to 3.*\[0, 1\].*first\s+layer"),
        (torch.full((2, 1, 2, 2), float("nan")), "NaN"),
        (torch.zeros(2, 1, 2, 2, dtype=torch.uint8), "uint8"),
        (torch.zeros(3, 1, 2, 2), "got 2 for 3 samples"),
    ],
)
def test_inputs_that_are_off_are_refused_with_a_reason(x, message):
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    with pytest.raises(InputError, match=message):
        PGD(eps=0.1)(model, x, torch.zeros(2).long())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps=0"),
        ({"restarts": 2, "random_start": False}, "begin at one point"),
        ({"loss": "mse"}, "'mse'"),
        ({"eps": float("inf"), "allow_any_eps": True}, "needs a step_size"),
    ],
)
def test_parameters_that_are_off_are_refused_with_a_reason(options, message):
    with pytest.raises(InputError, match=message):
        PGD(**options)


def test_a_report_gets_every_parameter_and_the_step_that_was_used():
    parameters = PGD(eps=0.1, steps=5).parameters()
    assert parameters["attack"] == "pgd"
    assert parameters["step_size"] == pytest.approx(0.05)
    assert {"eps", "norm", "steps", "restarts", "random_start", "loss", "seed", "bounds"} <= parameters.keys()
    assert FGSM().parameters()["attack"] == "fgsm"
