"""Radii: fractions are read, and those that mean nothing are refused with a reason."""

from __future__ import annotations

import math

import pytest
import torch

from wassermix.attacks import FGSM, PGD
from wassermix.core.errors import InputError


def test_an_attack_takes_a_fraction():
    assert PGD(eps="8/255").eps == pytest.approx(8 / 255)
    assert FGSM(eps="8/255").step == pytest.approx(8 / 255)


def test_the_papers_linf_radius_of_two_is_refused_and_explained():
    with pytest.raises(InputError, match=r"'linf 2\.0'.*was\s+an l2 radius"):
        PGD(eps=2.0, norm="linf")


def test_a_linf_radius_as_wide_as_the_scale_is_refused():
    PGD(eps=254 / 255)
    with pytest.raises(InputError, match="the ball holds every input"):
        PGD(eps=1.0)


def test_an_l2_radius_beyond_the_diagonal_of_the_box_is_refused():
    x, y = torch.rand(2, 1, 4, 4), torch.tensor([0, 1])
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    PGD(eps=3.9, norm="l2", steps=1)(model, x, y)
    with pytest.raises(InputError, match="at most 4 apart"):
        PGD(eps=4.0, norm="l2", steps=1)(model, x, y)
    PGD(eps=4.1, norm="l2", steps=1, allow_any_eps=True)(model, x, y)
    PGD(eps=40.0, norm="l2", steps=1, bounds=None)(model, x, y)


@pytest.mark.parametrize("eps", [-0.1, -math.inf])
def test_a_negative_radius_is_refused(eps):
    with pytest.raises(InputError, match="0 or more"):
        PGD(eps=eps)
