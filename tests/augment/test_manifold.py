"""Manifold mixup: the drawn layer mixes, and nothing stays behind."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from wassermix.augment import ManifoldMixup, Mixup
from wassermix.core.errors import InputError
from wassermix.models import LeNet


@pytest.fixture
def net() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


X = torch.rand(6, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(6) % 3


def mixed(net: nn.Module, layer: str, seed: int = 0) -> tuple[Tensor, Tensor]:
    augment = ManifoldMixup(layers=(layer,), num_classes=3)
    with augment.on(net, X, Y, generator=torch.Generator().manual_seed(seed)) as target:
        return net(X), target


def test_mixing_the_input_is_mixup(net: nn.Module) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.rand((), generator=generator)  # the draw of the layer
    x, y = Mixup(beta=2.0, num_classes=3)(X, Y, generator=generator)
    logits, target = mixed(net, "input")
    assert torch.allclose(logits, net(x), atol=1e-6)
    assert torch.allclose(target, y)


def test_mixing_before_a_linear_head_mixes_the_logits(net: nn.Module) -> None:
    logits, target = mixed(net, "1")
    weights = _weights_of(target)
    assert torch.allclose(logits, weights @ net(X), atol=1e-5)


def test_mixing_in_the_middle_is_what_hand_mixing_gives(net: nn.Module) -> None:
    logits, target = mixed(net, "0")
    assert torch.allclose(logits, net[2](net[1](_weights_of(target) @ net[0](X))), atol=1e-5)


def _weights_of(target: Tensor) -> Tensor:
    """The mixing matrix, from the draws that made these labels."""
    generator = torch.Generator().manual_seed(0)
    torch.rand((), generator=generator)
    weights, check = Mixup(beta=2.0, num_classes=6)(torch.eye(6), torch.arange(6), generator=generator)
    assert torch.allclose(check @ torch.eye(3)[Y], target, atol=1e-6)
    return weights


def test_all_layers_are_drawn_and_no_hook_stays(net: nn.Module) -> None:
    augment = ManifoldMixup(layers=("input", "0", "1"), num_classes=3)
    results = set()
    for seed in range(12):
        with augment.on(net, X, Y, generator=torch.Generator().manual_seed(seed)):
            net(X)
        generator = torch.Generator().manual_seed(seed)
        results.add(int(torch.rand((), generator=generator) * 3))
    assert results == {0, 1, 2}
    assert torch.equal(net(X), net(X))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


def test_the_named_stages_of_our_networks_are_the_default() -> None:
    net, x = LeNet(num_classes=3), torch.rand(4, 1, 28, 28)
    for seed in range(4):
        with ManifoldMixup(num_classes=3).on(net, x, Y[:4], generator=torch.Generator().manual_seed(seed)):
            assert net(x).shape == (4, 3)


def test_a_layer_that_is_not_there_is_named(net: nn.Module) -> None:
    with pytest.raises(InputError, match="stage9"):
        mixed(net, "stage9")


def test_two_forwards_inside_are_an_error(net: nn.Module) -> None:
    augment = ManifoldMixup(layers=("0",), num_classes=3)
    with pytest.raises(InputError, match="2 times"), augment.on(net, X, Y):
        [net(X) for _ in range(2)]


def test_another_batch_inside_is_an_error(net: nn.Module) -> None:
    with (
        pytest.raises(InputError, match="announced"),
        ManifoldMixup(layers=("0",), num_classes=3).on(net, X, Y),
    ):
        net(X[:2])
    assert not any(m._forward_hooks for m in net.modules())
