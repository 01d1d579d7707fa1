"""Eval mode and frozen parameters come back exactly as they were found."""

from __future__ import annotations

import pytest
from torch import nn

from wassermix.core.classifier import evaluating, frozen


def test_each_submodule_gets_its_own_mode_back() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.Linear(2, 2))
    model[1].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model] == [True, False, True]


def test_the_mode_comes_back_after_an_error() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(RuntimeError), evaluating(model):
        raise RuntimeError
    assert model.training


def test_frozen_parameters_thaw_as_they_were() -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    with frozen(model):
        assert not any(parameter.requires_grad for parameter in model.parameters())
    assert model.weight.requires_grad
    assert not model.bias.requires_grad


def test_a_plain_function_is_a_model_too() -> None:
    with evaluating(lambda x: x), frozen(lambda x: x):
        pass
