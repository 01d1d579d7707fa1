"""The architectures: sizes as published, shapes, names of their stages, gradients to the input."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models import MODELS, LeNet, PreActResNet18, ResNet, WideResNet, build_model

CASES = [
    ("lenet", (1, 28, 28), 10),
    ("lenet", (3, 33, 21), 7),
    ("resnet20", (3, 32, 32), 10),
    ("preact_resnet18", (3, 32, 32), 100),
    ("preact_resnet18", (3, 64, 64), 200),
    ("wide_resnet", (3, 8, 8), 5),
    ("mlp", (9,), 3),
    ("mlp", (1, 28, 28), 10),
]


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_lenet_has_its_published_size():
    assert size(LeNet()) == 431_080


def test_residual_nets_have_the_sizes_of_their_formulas():
    for depth, published in ((20, 0.27e6), (110, 1.73e6)):
        model = build_model(f"resnet{depth}", shape=(3, 32, 32), num_classes=10)
        blocks = (depth - 2) // 6
        inner = sum(w * w * 9 * (2 * blocks - 1) + 2 * w * 2 * blocks for w in (16, 32, 64)) + 9 * 16 * 16
        changes = sum(9 * w * w // 2 + w * w // 2 + 2 * w for w in (32, 64))
        assert size(model) == 27 * 16 + 32 + inner + changes + 650
        assert size(model) == pytest.approx(published, rel=0.01)


def test_the_preactivation_net_has_its_published_size():
    assert size(PreActResNet18(num_classes=100)) == pytest.approx(11.2e6, rel=0.01)


def test_the_wide_net_has_its_published_size():
    assert size(WideResNet()) == 36_479_194
    assert size(WideResNet(depth=40, width=2)) == 2_243_546


def test_small_images_are_refused_with_a_model_that_takes_them():
    for shape, fitting in (((1, 8, 8), "resnet20"), ((1, 2, 2), "mlp"), ((64,), "mlp")):
        with pytest.raises(InputError, match=f"use model={fitting}"):
            LeNet(shape=shape)
        build_model(fitting, shape=shape, num_classes=3)(torch.zeros(2, *shape))


@pytest.mark.parametrize(("name", "shape", "k"), CASES)
def test_a_batch_of_any_size_gets_logits_and_input_gradients(name, shape, k):
    model = build_model(name, shape=shape, num_classes=k).eval()
    x = torch.rand(3, *shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    logits = model(x)
    assert logits.shape == (3, k)
    assert torch.allclose(logits[:1], model(x[:1]), atol=1e-4)
    (gradient,) = torch.autograd.grad(logits.sum(), x)
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize(("name", "shape", "k"), [case for case in CASES if len(case[1]) == 3])
def test_the_memory_layout_does_not_change_the_answer(name, shape, k):
    model = build_model(name, shape=shape, num_classes=k).eval()
    x = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0))
    usual = model(x)
    model = model.to(memory_format=torch.channels_last)
    assert torch.allclose(model(x.to(memory_format=torch.channels_last)), usual, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "shape", "sides"),
    [
        ("lenet", (1, 28, 28), {"stage1": 12, "stage2": 4}),
        ("resnet20", (3, 32, 32), {"stem": 32, "stage1": 32, "stage2": 16, "stage3": 8}),
        ("preact_resnet18", (3, 32, 32), {"stem": 32, "stage1": 32, "stage2": 16, "stage3": 8, "stage4": 4}),
        ("preact_resnet18", (3, 64, 64), {"stem": 32, "stage1": 32, "stage2": 16, "stage3": 8, "stage4": 4}),
    ],
)
def test_stages_are_reached_by_name_and_have_the_expected_sides(name, shape, sides):
    model = build_model(name, shape=shape, num_classes=5).eval()
    seen = {}
    for stage in sides:
        model.get_submodule(stage).register_forward_hook(
            lambda _, __, output, stage=stage: seen.update({stage: output.shape[-1]})
        )
    model(torch.zeros(1, *shape))
    assert seen == sides


def test_residual_convolutions_start_with_the_stated_spread():
    model = ResNet(num_classes=10, depth=20)
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module.weight.numel() > 2000:
            expected = math.sqrt(2 / (module.kernel_size[0] ** 2 * module.out_channels))
            assert module.weight.std().item() == pytest.approx(expected, rel=0.1)


def test_a_perceptron_without_hidden_layers_is_linear():
    model = build_model("mlp", shape=(4,), num_classes=3, hidden=())
    a, b = torch.rand(2, 5, 4, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(model((a + b) / 2), (model(a) + model(b)) / 2, atol=1e-6)
    assert size(model) == 15


def test_hidden_layers_have_the_widths_asked_for():
    model = build_model("mlp", shape=(4,), num_classes=3, hidden=[7, 5])
    assert size(model) == 4 * 7 + 7 + 7 * 5 + 5 + 5 * 3 + 3
    assert model.get_submodule("stage2")(torch.zeros(1, 7)).shape == (1, 5)


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("lenet", (1, 12, 12), {}),
        ("lenet", (10,), {}),
        ("resnet20", (10,), {}),
        ("preact_resnet18", (5,), {}),
        ("resnet110", (3, 32, 32), {"width": 0}),
        ("mlp", (4,), {"hidden": (3, 0)}),
    ],
)
def test_shapes_and_widths_that_do_not_fit_are_refused(name, shape, options):
    with pytest.raises(InputError):
        build_model(name, shape=shape, num_classes=3, **options)


def test_every_architecture_says_what_it_is_in_one_line():
    for factory in map(MODELS.find, MODELS.shipped):
        assert factory.__doc__
        assert len(factory.__doc__.splitlines()[0]) > 20


def test_lenet_pools_before_its_relu_and_is_the_textbook_net_all_the_same() -> None:
    net = build_model("lenet", shape=(1, 28, 28), num_classes=10)
    x = torch.rand(6, 1, 28, 28, generator=torch.Generator().manual_seed(0), requires_grad=True)

    def textbook(x: Tensor) -> Tensor:
        for stage in (net.stage1, net.stage2):
            x = F.max_pool2d(stage[0](x).relu(), 2)
        return net.fc(net.hidden(x.flatten(1)))

    torch.testing.assert_close(net(x), textbook(x))
    ours, theirs = (torch.autograd.grad(f(x).square().sum(), [x, *net.parameters()]) for f in (net, textbook))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours, theirs))
