"""The one-channel convolution against PyTorch's own, in values and in first and second derivatives."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.geodesic.path import value_and_velocity
from wassermix.models import build_model
from wassermix.models.one_channel import OneChannelConv2d


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def both() -> tuple[OneChannelConv2d, nn.Conv2d]:
    own, plain = OneChannelConv2d(3, 4).double(), nn.Conv2d(1, 3, 4).double()
    plain.load_state_dict(own.state_dict())
    return own.requires_grad_(False), plain


def test_values_and_the_images_gradient_are_those_of_pytorchs_convolution() -> None:
    found = []
    for layer in both():
        x = numbers(2, 1, 7, 9).requires_grad_()
        out = layer(x)
        found.append((out, *torch.autograd.grad((out**3).sum(), x)))
    for mine, theirs in zip(*found):
        torch.testing.assert_close(mine, theirs)


def test_it_has_second_derivatives() -> None:
    own, _ = both()
    assert torch.autograd.gradgradcheck(lambda x: own(x) ** 2, numbers(1, 1, 5, 5).requires_grad_())


def test_an_attack_through_lenet_has_the_gradient_of_the_plain_network() -> None:
    net = build_model("lenet", shape=(1, 28, 28), num_classes=10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    plain = copy.deepcopy(net)
    first = nn.Conv2d(1, 20, 5)
    first.load_state_dict(net.stage1[0].state_dict())
    plain.stage1[0] = first
    net.requires_grad_(False)
    x = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0)).requires_grad_()
    y = torch.arange(4)
    mine, theirs = (torch.autograd.grad(F.cross_entropy(model(x), y), x)[0] for model in (net, plain))
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-7)


def test_a_bias_that_is_trained_alone_gets_its_gradient() -> None:
    own, plain = both()
    plain.requires_grad_(False)
    found = []
    for layer in (own, plain):
        assert layer.bias is not None
        layer.bias.requires_grad_()
        (layer(numbers(2, 1, 7, 9).requires_grad_()) ** 2).sum().backward()
        assert layer.bias.grad is not None
        found.append(layer.bias.grad)
    torch.testing.assert_close(*found)


def test_it_has_the_derivatives_of_torch_func_and_of_forward_mode() -> None:
    own, plain = both()
    plain.requires_grad_(False)
    x, velocity = numbers(4, 1, 7, 9), numbers(4, 1, 9, 7).mT
    mine, theirs = (
        torch.func.vmap(torch.func.grad(lambda one, net=net: (net(one[None]) ** 3).sum()))(x)
        for net in (own, plain)
    )
    torch.testing.assert_close(mine, theirs)
    found = [value_and_velocity(net, x.clone().requires_grad_(), velocity)[1] for net in (own, plain)]
    torch.testing.assert_close(*found)


def test_under_autocast_an_attack_has_its_gradient() -> None:
    own, plain = OneChannelConv2d(3, 4), nn.Conv2d(1, 3, 4)
    plain.load_state_dict(own.state_dict())
    found: list[Tensor] = []
    for layer in (own.requires_grad_(False), plain.requires_grad_(False)):
        x = numbers(2, 1, 7, 9).float().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = layer(x)
        found += torch.autograd.grad(out.float().sum(), x)
    torch.testing.assert_close(*found, rtol=2**-6, atol=2**-6)  # bfloat16 has eight bits


@pytest.mark.parametrize(("weights", "image"), [(True, True), (True, False), (False, False)])
def test_in_training_and_in_evaluation_it_is_pytorchs_own_layer(weights: bool, image: bool) -> None:
    own, plain = both()
    own.requires_grad_(weights)
    x = numbers(2, 1, 7, 9).requires_grad_(image)
    assert torch.equal(own(x), plain(x))
    assert "Attacked" not in type(own(x).grad_fn).__name__
