"""Accuracy under attack: flags, intervals, curves."""

from __future__ import annotations

import copy
import json
from itertools import pairwise

import pytest
import torch
from scipy.stats import binomtest

from wassermix.attacks import FGSM, PGD, attack_curve, evaluate_attack
from wassermix.attacks.protocol import fooled
from wassermix.core.errors import InputError
from wassermix.core.streams import stream


def test_flags_and_shares_agree_with_a_count_by_hand(digits):
    attack, x, y = FGSM(eps=0.05), digits.x[::3], digits.y[::3]
    result = evaluate_attack(digits.net, x, y, attack=attack, batch_size=50)
    clean = ~fooled(digits.net, x, y)
    robust = clean & ~fooled(digits.net, attack(digits.net, x, y), y)
    assert torch.equal(result.clean_correct, clean)
    assert torch.equal(result.robust_correct, robust)
    interval = binomtest(int(robust.sum()), len(y)).proportion_ci(0.95, method="wilson")
    assert result.robust.low == pytest.approx(interval.low)
    assert result.robust.high == pytest.approx(interval.high)
    assert result.robust.accuracy == pytest.approx(float(robust.float().mean()))


def test_a_record_holds_every_parameter_and_is_plain_json(digits):
    result = evaluate_attack(
        digits.net, digits.x[:9], digits.y[:9], attack=PGD(eps=0.05, steps=2), check=False
    )
    record = json.loads(json.dumps(result.record(), allow_nan=False))
    assert record["images"] == 9
    assert record["per_image"]["label"] == digits.y[:9].tolist()
    keys = (
        "attack norm eps steps step_size restarts random_start loss seed bounds clean robust checks seconds"
    )
    assert set(keys.split()) <= record.keys()


def test_the_curve_never_rises_and_begins_where_a_single_attack_does(digits):
    x, y, attack = digits.x[::5], digits.y[::5], PGD(eps=0.1, steps=4)
    curve = attack_curve(digits.net, x, y, attack=attack, eps=[0.1, 0.02, 0.05], check=False)
    assert [result.parameters["eps"] for result in curve] == [0.02, 0.05, 0.1]
    assert [result.parameters["step_size"] for result in curve] == pytest.approx([0.0125, 0.03125, 0.0625])
    alone = evaluate_attack(digits.net, x, y, attack=attack.with_eps(0.02), check=False)
    assert torch.equal(curve[0].robust_correct, alone.robust_correct)
    for near, far in pairwise(curve):
        assert torch.all(far.robust_correct <= near.robust_correct)
    assert curve[-1].robust.count < curve[0].robust.count


def test_a_later_point_of_the_curve_is_no_attack_at_its_radius_alone(digits):
    x, y, attack = digits.x[::25], digits.y[::25], PGD(eps=0.1, steps=2)
    near, far = attack_curve(digits.net, x, y, attack=attack, eps=[0.02, 0.1], check=False)
    alone = evaluate_attack(digits.net, x, y, attack=attack, check=False)
    assert far.parameters["smaller_eps"] == [0.02]
    assert far.identity != alone.identity
    assert (
        near.identity
        == evaluate_attack(digits.net, x, y, attack=attack.with_eps(0.02), check=False, batch_size=9).identity
    )


def test_a_given_step_follows_the_radius():
    assert FGSM(eps=0.1).with_eps(0.3).step == pytest.approx(0.3)
    assert PGD(eps=0.1, steps=5).with_eps(0.3).step == pytest.approx(0.15)
    assert FGSM(eps=0.0).with_eps(0.3).step > 0


def test_a_step_backwards_is_refused():
    with pytest.raises(InputError, match=r"step_size is -0\.1"):
        PGD(eps=0.1, step_size=-0.1)


def test_progress_counts_to_the_end(digits):
    calls = []
    evaluate_attack(
        digits.net,
        digits.x[:7],
        digits.y[:7],
        attack=FGSM(eps=0.1),
        batch_size=3,
        check=False,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(3, 7), (6, 7), (7, 7)]


def test_soft_labels_and_plain_functions_are_judged_too(digits):
    soft = torch.nn.functional.one_hot(digits.y[:20], 10).float() * 0.8 + 0.02
    attack = FGSM(eps=0.05)
    by_soft = evaluate_attack(lambda x: digits.net(x), digits.x[:20], soft, attack=attack, check=False)
    by_hard = evaluate_attack(digits.net, digits.x[:20], digits.y[:20], attack=attack, check=False)
    assert torch.equal(by_soft.label, by_hard.label)
    assert torch.equal(by_soft.clean_correct, by_hard.clean_correct)


def test_a_net_in_training_mode_is_reported_and_restored(digits):
    net = copy.deepcopy(digits.net).train()
    result = evaluate_attack(net, digits.x[:4], digits.y[:4], attack=FGSM(eps=0.05))
    assert net.training
    assert not next(check for check in result.checks if check.name == "eval mode").passed


def test_printing_a_result_is_one_line_with_the_attack_and_both_shares(digits):
    result = evaluate_attack(digits.net, digits.x, digits.y, attack=PGD(eps="8/255"), check=False)
    assert str(result).startswith("AttackResult(PGD ℓ∞ ε=8/255 10 steps: ")
    assert f"{result.robust.accuracy:.1%}" in str(result)
    assert len(str(result)) < 150


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda logits: logits * float("nan"), "NaN or infinite values on 5 of 5 inputs"),
        (lambda logits: {"logits": logits}, "answers a dict"),
        (lambda logits: logits[:, 0], r"shape \(5,\)"),
        (lambda logits: logits[:, :1], r"two classes or more"),
    ],
)
def test_a_network_that_does_not_answer_logits_is_refused(digits, answer, words):
    net = lambda x: answer(digits.net(x))  # noqa: E731
    with pytest.raises(InputError, match=words):
        evaluate_attack(net, digits.x[:5], digits.y[:5], attack=FGSM(eps=0.1))
    with pytest.raises(InputError, match=words.replace("5", "[15]")):
        FGSM(eps=0.1)(net, digits.x[:5], digits.y[:5])


def test_arrays_and_columns_of_labels_are_refused_with_what_to_do(digits):
    x, y = digits.x[:5], digits.y[:5]
    for inputs, labels in ((x.numpy(), y), (x, y.numpy())):
        with pytest.raises(InputError, match=r"ndarray; expected a tensor, torch\.as_tensor"):
            evaluate_attack(digits.net, inputs, labels, attack=FGSM(eps=0.1))
        with pytest.raises(InputError, match="ndarray"):
            FGSM(eps=0.1)(digits.net, inputs, labels)
    column = evaluate_attack(digits.net, x, y[:, None], attack=FGSM(eps=0.1), check=False)
    assert torch.equal(column.label, y)
    with pytest.raises(InputError, match=r"labels: got torch.float32 of shape \(5,\)"):
        evaluate_attack(digits.net, x, y.float(), attack=FGSM(eps=0.1))


@pytest.mark.parametrize("wrong", [10, -1])
def test_labels_that_the_model_has_no_output_for_are_refused(digits, wrong):
    """Silently they would count as errors of the model."""
    x, y = digits.x[:5], digits.y[:5].clone()
    y[3] = wrong
    attack = FGSM(eps=0.1)
    for judged in (
        lambda: evaluate_attack(digits.net, x, y, attack=attack),
        lambda: attack_curve(digits.net, x, y, attack=attack, eps=[0.1]),
        lambda: attack.judge(digits.net, x, y, generator=stream(0, "labels")),
        lambda: attack(digits.net, x, y),
    ):
        with pytest.raises(InputError, match="expected classes 0 to 9"):
            judged()


@pytest.mark.parametrize("size", [0, -3])
def test_a_block_of_no_images_is_refused(digits, size):
    with pytest.raises(InputError, match=f"batch_size is {size}; expected 1 or more"):
        evaluate_attack(digits.net, digits.x[:5], digits.y[:5], attack=FGSM(eps=0.1), batch_size=size)


def test_no_images_are_an_error(digits):
    with pytest.raises(InputError, match="no images"):
        evaluate_attack(digits.net, digits.x[:0], digits.y[:0], attack=FGSM(eps=0.1))
