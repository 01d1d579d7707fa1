"""Eval mode and frozen parameters come back exactly as they were found."""

from __future__ import annotations

import threading

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


def test_threads_that_share_a_model_leave_it_as_the_first_found_it() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    inside, out = threading.Barrier(4), threading.Barrier(4)

    def judge(order: int) -> None:
        with evaluating(model), frozen(model):
            inside.wait(timeout=60)  # all four are inside
            assert not model.training
            assert not model[0].weight.requires_grad
        out.wait(timeout=60)

    threads = [threading.Thread(target=judge, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert all(module.training for module in model.modules())
    assert all(parameter.requires_grad for parameter in model.parameters())
