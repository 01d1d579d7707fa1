"""AutoAttack through the adapter: stronger than PGD, for any number of classes, and a good neighbour."""

from __future__ import annotations

import sys

import pytest
import torch

from wassermix.attacks import PGD, AutoAttack
from wassermix.attacks.auto import attack_list
from wassermix.attacks.norms import length
from wassermix.attacks.protocol import fooled
from wassermix.core.errors import InputError

pytest.importorskip("pyautoattack")
EPS = {"l2": 0.7, "linf": 0.08}


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_autoattack_leaves_hardly_an_image_that_pgd_of_50_steps_fools(digits, norm):
    x, y = digits.x[::5], digits.y[::5]
    pgd = fooled(digits.net, PGD(eps=EPS[norm], norm=norm, steps=50)(digits.net, x, y), y)
    auto = fooled(digits.net, AutoAttack(eps=EPS[norm], norm=norm, queries=50)(digits.net, x, y), y)
    assert 60 < int(pgd.sum()) < 95
    assert int((pgd & ~auto).sum()) <= 1


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_fewer_than_ten_classes_work(digits, norm, classes, caplog):
    x, y = digits.x[digits.y < classes][::25][:4], digits.y[digits.y < classes][::25][:4]

    def net(x):
        return digits.net(x)[:, :classes]

    attack = AutoAttack(eps=2 * EPS[norm], norm=norm, queries=20)
    x_adv = attack(net, x, y)
    assert 0 <= x_adv.min() <= x_adv.max() <= 1
    assert torch.all(length(x_adv - x, norm) <= attack.eps * (1 + 1e-5))
    pgd = PGD(eps=2 * EPS[norm], norm=norm, steps=20)(net, x, y)
    assert int(fooled(net, x_adv, y).sum()) >= int(fooled(net, pgd, y).sum())
    assert "classes" not in caplog.text


def test_vectors_float64_and_other_bounds_work():
    w = torch.tensor([[1.0, -1.0, 2.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    x = torch.tensor([[1.0, -1.0, 0.5], [-1.0, 1.5, 0.0]], dtype=torch.float64)
    y = torch.tensor([0, 1])

    def model(x):
        return x @ w.T

    # Margins <w0 - w1, x> of 4 and -4 in l2 distance 4/3: fooled beyond it, never before.
    for eps, expected in ((1.2, 0), (1.45, 2)):
        x_adv = AutoAttack(eps=eps, norm="l2", bounds=(-3.0, 3.0), queries=10)(model, x, y)
        assert x_adv.dtype == torch.float64
        assert int(fooled(model, x_adv, y).sum()) == expected


def test_the_process_is_left_as_it_was_and_the_seed_decides(digits):
    x, y = digits.x[:3], digits.y[:3]
    before, tracer = torch.get_rng_state(), sys.gettrace()
    first = AutoAttack(eps=0.3, queries=5)(digits.net, x, y)
    assert torch.equal(before, torch.get_rng_state())
    assert sys.gettrace() is tracer
    assert torch.equal(first, AutoAttack(eps=0.3, queries=5)(digits.net, x, y))


def test_the_ensemble_and_the_version_are_recorded():
    attack = AutoAttack(eps=0.1)
    assert attack.parameters()["pyautoattack"]
    assert attack.details((1, 28, 28), 10) == {"ensemble": ["apgd-ce", "apgd-t", "fab-t", "square"]}
    assert attack_list((3, 32, 32), 3, "l2") == ("apgd-ce", "apgd-dlr", "fab-t", "square")
    assert attack_list((1, 14, 14), 2, "l2") == ("apgd-ce", "fab-t")


def test_vectors_without_bounds_are_refused():
    with pytest.raises(InputError, match="need bounds"):
        AutoAttack(bounds=None)


def test_a_missing_package_names_the_extra(digits, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyautoattack", None)
    with pytest.raises(InputError, match="pip install pyautoattack"):
        AutoAttack(eps=0.1)(digits.net, digits.x[:1], digits.y[:1])
    with pytest.raises(InputError, match="pip install pyautoattack"):
        AutoAttack(eps=0.1).parameters()  # what a result file begins with
