"""The pooled convolution against PyTorch's three layers, in values and in first and second derivatives."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils import prune

from wassermix.geodesic.path import value_and_velocity
from wassermix.models import build_model
from wassermix.models.pooled import PooledStage, _pooled, warm_up_stages

LAYERS = [(1, 3, 4), (1, 5, 5), (3, 6, 5), (20, 7, 3), (1, 2, 9)]
"""Channels in and out, and the kernel's size: one channel with small and with large kernels, several."""


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def stage(sizes: tuple[int, int, int] = (1, 3, 4)) -> PooledStage:
    return PooledStage(nn.Conv2d(*sizes), nn.MaxPool2d(2), nn.ReLU())


def both(sizes: tuple[int, int, int] = (1, 3, 4)) -> tuple[PooledStage, nn.Sequential]:
    own = stage(sizes)
    return own, nn.Sequential(*copy.deepcopy(own))


def gradients(layer: nn.Module, x: Tensor, *, weights: bool = True, image: bool = True) -> list[Tensor]:
    x = x.clone().requires_grad_(image)
    layer.requires_grad_(weights)
    asked = [*([x] if image else []), *(layer.parameters() if weights else [])]
    return list(torch.autograd.grad((layer(x).float() ** 3).sum(), asked))


def is_compiled(out: Tensor) -> bool:
    return "Pooled" in type(out.grad_fn).__name__


@pytest.mark.parametrize("sizes", LAYERS)
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("side", [14, 15])
def test_values_and_gradients_are_those_of_the_three_layers(
    sizes: tuple[int, int, int], memory: torch.memory_format, side: int
) -> None:
    own, plain = (layer.to(memory_format=memory) for layer in both(sizes))  # type: ignore[call-overload]
    x = numbers(5, sizes[0], side, side + 3).contiguous(memory_format=memory)
    assert torch.equal(own(x), plain(x))
    assert is_compiled(own(x))
    for mine, theirs in zip(gradients(own, x), gradients(plain, x), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("weights", "image"), [(True, False), (False, True)])
def test_only_the_gradients_that_are_asked_for_are_made(weights: bool, image: bool) -> None:
    own, plain = both((3, 6, 5))
    found = [gradients(layer, numbers(4, 3, 12, 12), weights=weights, image=image) for layer in (own, plain)]
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_equal_values_send_their_gradient_where_pytorch_does() -> None:
    own, plain = both((1, 4, 3))
    x = torch.ones(2, 1, 8, 8)  # every square has four equal values
    for mine, theirs in zip(gradients(own, x), gradients(plain, x), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("place", [(0, 0), (0, 5), (5, 0), (7, 7)])
def test_what_is_not_a_number_stays_so(place: tuple[int, int]) -> None:
    own, plain = both()
    x = numbers(1, 1, 8, 8)
    x[0, 0, place[0], place[1]] = float("nan")
    torch.testing.assert_close(own(x), plain(x), equal_nan=True)


def test_several_threads_give_the_same_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wassermix.core.jit.WORTH_A_THREAD", 1)
    own, x, threads = stage((3, 6, 5)), numbers(13, 3, 14, 14), torch.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(gradients(own, x))
    finally:
        torch.set_num_threads(threads)
    for one, several in zip(*found, strict=True):
        torch.testing.assert_close(one, several, rtol=1e-4, atol=1e-4)


def test_it_has_second_derivatives() -> None:
    own, plain = both()
    found = []
    for layer in (own, plain):
        x = numbers(2, 1, 8, 8).requires_grad_()
        (first,) = torch.autograd.grad((layer(x) ** 3).sum(), x, create_graph=True)
        found.append(torch.autograd.grad((first**2).sum(), [x, *layer.parameters()]))
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def by_vmap(layer: nn.Module, x: Tensor) -> Tensor:
    return torch.func.vmap(torch.func.grad(lambda one: (layer(one[None]) ** 3).sum()))(x)  # type: ignore[no-any-return]


def by_a_transform_of_something_else(layer: nn.Module, x: Tensor) -> Tensor:
    return torch.func.grad(lambda factor: (layer(x) * factor).sum())(torch.tensor(2.0))  # type: ignore[no-any-return]


def by_forward_mode(layer: nn.Module, x: Tensor) -> Tensor:
    return value_and_velocity(layer, x.clone().requires_grad_(), numbers(*x.shape, seed=1))[1]


def by_gradients_in_batches(layer: nn.Module, x: Tensor) -> Tensor:
    return torch.autograd.functional.jacobian(layer, x[:1], vectorize=True)  # type: ignore[no-any-return]


def by_hook(layer: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(layer, nn.Sequential)
    seen: list[Tensor] = []
    hook = layer[0].register_forward_hook(lambda module, inputs, output: seen.append(output))
    layer(x)
    hook.remove()
    return seen[0]


def in_double(layer: nn.Module, x: Tensor) -> Tensor:
    return copy.deepcopy(layer).double()(x.double())  # type: ignore[no-any-return]


def of_one_image(layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x[0])  # type: ignore[no-any-return]


def exported(layer: nn.Module, x: Tensor) -> Tensor:
    return torch.export.export(layer.eval(), (x,)).module()(x + 1)  # type: ignore[no-any-return]


def traced(layer: nn.Module, x: Tensor) -> Tensor:
    return torch.jit.trace(layer.eval(), (x,))(x + 1)  # type: ignore[no-any-return,no-untyped-call]


def traced_as_a_graph(layer: nn.Module, x: Tensor) -> Tensor:
    return make_fx(layer.requires_grad_(False))(x)(x + 1)  # type: ignore[no-any-return]


WAYS = [
    by_vmap,
    by_a_transform_of_something_else,
    by_forward_mode,
    by_gradients_in_batches,
    by_hook,
    in_double,
    of_one_image,
    exported,
    traced,
    traced_as_a_graph,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_where_kernels_cannot_serve_pytorchs_layers_do(way: Callable[[nn.Module, Tensor], Tensor]) -> None:
    x = numbers(4, 1, 8, 8)
    mine, theirs = (way(layer, x) for layer in both())
    torch.testing.assert_close(mine, theirs)


def with_padding(layers: nn.Sequential) -> None:
    layers[0] = nn.Conv2d(1, 3, 4, padding=2)


def with_another_pooling(layers: nn.Sequential) -> None:
    layers[1] = nn.AvgPool2d(2)


def with_another_activation(layers: nn.Sequential) -> None:
    layers[2] = nn.LeakyReLU(0.5)


def with_one_more(layers: nn.Sequential) -> None:
    layers.append(nn.Hardtanh(0, 0.1))


def without_bias(layers: nn.Sequential) -> None:
    layers[0] = nn.Conv2d(1, 3, 4, bias=False)


def pruned(layers: nn.Sequential) -> None:
    prune.l1_unstructured(layers[0], "weight", amount=0.5)  # type: ignore[no-untyped-call]
    prune.remove(layers[0], "weight")  # type: ignore[no-untyped-call]


def normalised(layers: nn.Sequential) -> None:
    nn.utils.parametrizations.spectral_norm(layers[0])


def with_a_forward_of_its_own(layers: nn.Sequential) -> None:
    layers[0].forward = lambda x: torch.ones(len(x), 3, 4, 4)  # type: ignore[method-assign]


EDITS = [
    with_padding,
    with_another_pooling,
    with_another_activation,
    with_one_more,
    without_bias,
    pruned,
    normalised,
    with_a_forward_of_its_own,
]


@pytest.mark.parametrize("edit", EDITS)
def test_a_stage_whose_layers_were_edited_does_what_they_do(edit: Callable[[nn.Sequential], None]) -> None:
    own = stage().eval()
    edit(own)
    x = numbers(2, 1, 9, 9)
    torch.testing.assert_close(own.eval()(x), nn.Sequential(*own)(x))


def test_a_part_of_a_stage_is_its_layers() -> None:
    own, x = stage(), numbers(2, 1, 9, 9)
    assert torch.equal(own[:2](x), own[1](own[0](x)))


def test_no_images_have_no_gradient() -> None:
    own, x = stage((3, 6, 5)), numbers(0, 3, 14, 14).requires_grad_()
    own(x).sum().backward()
    assert x.grad is not None
    assert x.grad.shape == x.shape
    assert not any(one.grad.any() for one in own.parameters() if one.grad is not None)


def test_a_bias_that_is_trained_alone_gets_its_gradient() -> None:
    found = []
    for layer in both():
        layer.requires_grad_(False)
        layer[0].bias.requires_grad_()
        (layer(numbers(2, 1, 9, 9)) ** 2).sum().backward()
        assert layer[0].weight.grad is None
        found.append(layer[0].bias.grad)
    torch.testing.assert_close(*found)


def test_compiling_ahead_leaves_the_model_and_the_random_stream_alone() -> None:
    net = build_model("lenet", shape=(1, 28, 28), num_classes=10)
    before = torch.get_rng_state()
    with torch.no_grad():
        warm_up_stages(net)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(one.grad is None for one in net.parameters())


def test_a_graph_of_the_gradient_that_is_asked_for_does_not_change_it_under_autocast() -> None:
    own, x = stage((3, 6, 5)), numbers(4, 3, 12, 12).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = (own(x) ** 2).sum()
    first, again = (
        torch.autograd.grad(out, x, create_graph=further, retain_graph=True)[0] for further in (False, True)
    )
    assert (first - again).norm() < 0.01 * first.norm()


def test_under_autocast_it_has_the_gradients_of_bfloat16() -> None:
    own, plain = both((3, 6, 5))
    found = []
    for layer in (own, plain):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found.append(gradients(layer, numbers(4, 3, 12, 12)))
    assert all(one.dtype == torch.float32 for one in found[0])
    for mine, theirs in zip(*found, strict=True):
        assert (mine - theirs).norm() < 0.02 * theirs.norm()  # bfloat16 has eight bits


SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), -float("nan"), 1e-40, -1e-40, 3e38]


@pytest.mark.parametrize("channels", [1, 20])
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_pooling_of_bfloat16_has_the_values_of_pytorch_and_tells_where_they_came_from(
    channels: int, memory: torch.memory_format
) -> None:
    z = numbers(4, channels, 10, 11)
    special = torch.tensor(SPECIAL)
    z.flatten()[:: max(z.numel() // 90, 1)][:90] = special.repeat(10)
    z = z.to(torch.bfloat16).contiguous(memory_format=memory)
    out, place = _pooled(z)
    torch.testing.assert_close(out, F.relu(F.max_pool2d(z, 2)).float(), rtol=0, atol=0, equal_nan=True)
    corners = F.unfold(z.float()[..., :10], 2, stride=2).view(4, channels, 4, 5, 5).movedim(2, -1)
    at = torch.from_numpy(place).movedim(-1, 1).long()
    found = corners.gather(-1, at.clamp(max=3)[..., None])[..., 0]
    torch.testing.assert_close(torch.where(at == 4, 0, found), out, rtol=0, atol=0, equal_nan=True)


def test_an_attack_through_lenet_has_the_gradient_of_the_plain_network() -> None:
    net = build_model("lenet", shape=(1, 28, 28), num_classes=10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    plain = copy.deepcopy(net)
    for name in ("stage1", "stage2"):
        setattr(plain, name, nn.Sequential(*getattr(plain, name)))
    net.requires_grad_(False)
    x = torch.rand(4, 1, 28, 28, generator=torch.Generator().manual_seed(0)).requires_grad_()
    y = torch.arange(4)
    mine, theirs = (torch.autograd.grad(F.cross_entropy(model(x), y), x)[0] for model in (net, plain))
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-7)
