"""The inner searches: inside their ball and the box, and never worse than standing still."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from wassermix.core import labels
from wassermix.core.errors import InputError
from wassermix.methods import TRADES, Batch, PGDTraining, SmoothAdv, SmoothMix
from wassermix.methods.noise import forward_copies, noises
from wassermix.methods.search import ramp
from wassermix.methods.smoothed import smoothed_loss


@pytest.fixture(scope="module")
def net() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Flatten(), nn.Linear(36, 32), nn.ReLU(), nn.Linear(32, 4))


def images(count: int = 16, **fields: object) -> Batch:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(count, 1, 6, 6, generator=generator)
    return Batch(**{"x": x, "y": torch.arange(count) % 4, "generator": generator, **fields})


def length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1)


def in_box(x: Tensor) -> bool:
    return bool((x >= -1e-6).all() and (x <= 1 + 1e-6).all())


@pytest.mark.parametrize("progress", [0.0, 0.05, 1.0])
def test_smoothadv_stays_inside_the_ball_as_far_as_it_has_grown(net: nn.Module, progress: float) -> None:
    batch, method = images(progress=progress), SmoothAdv(sigma=0.25, noises=3, eps=0.7, steps=5, warm_up=0.1)
    moved = method.moved(net, batch, noises(batch.x, 0.25, count=3, generator=batch.generator))
    assert (length(moved - batch.x) <= 0.7 * min(1, progress / 0.1) + 1e-5).all()
    assert in_box(moved)


@pytest.mark.parametrize("soft", [False, True])
def test_smoothadv_is_never_worse_than_no_attack(net: nn.Module, soft: bool) -> None:
    batch, method = images(64), SmoothAdv(sigma=0.25, noises=4, eps=0.5, steps=5)
    y = 0.8 * labels.soft(batch.y, 4) + 0.05 if soft else batch.y
    batch = Batch(batch.x, y, generator=batch.generator)
    noise = noises(batch.x, 0.25, count=4, generator=batch.generator)
    moved = method.moved(net, batch, noise)
    with torch.no_grad():
        before, after = (smoothed_loss(forward_copies(net, at + noise), y) for at in (batch.x, moved))
    assert (after >= before).all()
    assert after.mean() > before.mean() + 0.05


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_pgd_training_stays_inside_and_raises_the_loss(net: nn.Module, norm: str) -> None:
    batch, method = images(), PGDTraining(norm=norm, eps=0.2, steps=4)
    moved = method.perturb(net, batch)
    away = length(moved - batch.x) if norm == "l2" else (moved - batch.x).flatten(1).abs().amax(dim=1)
    assert (away <= 0.2 + 1e-6).all()
    assert in_box(moved)
    with torch.no_grad():
        before, after = (labels.cross_entropy(net(at), batch.y) for at in (batch.x, moved))
    assert (after >= before).all()


def test_trades_finds_a_prediction_away_from_the_clean_one(net: nn.Module) -> None:
    batch = images()
    method = TRADES(eps=0.1, steps=5)
    moved = method.perturb(net, batch)
    assert ((moved - batch.x).abs() <= 0.1 + 1e-6).all()
    assert in_box(moved)
    assert method.loss(net, batch)["kl"] > 10 * TRADES(eps=1e-4, steps=5).loss(net, batch)["kl"]


def test_smoothmix_goes_as_far_as_its_steps_and_the_box_allow(net: nn.Module) -> None:
    batch, method = images(), SmoothMix(sigma=0.25, noises=2, steps=3, step_size=0.4, mix_step=1)
    noise = noises(batch.x, 0.25, count=2, generator=batch.generator)
    near, far = method.ends(net, batch, noise)
    assert (length(near - batch.x) <= 0.4 + 1e-5).all()
    assert (length(far - batch.x) <= 1.2 + 1e-5).all()
    assert (length(far - batch.x) > length(near - batch.x)).all()
    assert in_box(near)
    assert in_box(far)


def test_the_one_step_adversary_grows_with_the_warm_up(net: nn.Module) -> None:
    method = SmoothMix(sigma=0.25, noises=2, steps=2, step_size=0.4, mix_step=1, warm_up=0.2)
    batch = images(progress=0.0)
    near, _ = method.ends(net, batch, noises(batch.x, 0.25, count=2, generator=batch.generator))
    assert length(near - batch.x).max() <= 0.04 + 1e-6


def test_vectors_are_not_clipped() -> None:
    x = torch.full((3, 2), 5.0)
    moved = PGDTraining(eps=1.0, steps=2).perturb(lambda at: at, Batch(x, torch.tensor([0, 1, 0])))
    assert length(moved - x).numpy() == pytest.approx([1.0] * 3)


def test_a_flat_loss_sends_the_search_in_a_random_direction() -> None:
    batch = images()
    moved = PGDTraining(eps=0.5, steps=2).perturb(lambda x: 0 * x.flatten(1)[:, :4], batch)
    assert (length(moved - batch.x) > 0.05).all()


@pytest.mark.parametrize(("progress", "expected"), [(0.0, 0.1), (0.1, 0.55), (0.2, 1.0), (0.9, 1.0)])
def test_a_ramp_is_linear_and_then_one(progress: float, expected: float) -> None:
    assert ramp(progress, 0.2, start=0.1) == pytest.approx(expected)


def test_no_warm_up_is_no_ramp() -> None:
    assert ramp(0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("method", "options", "word"),
    [
        (SmoothMix, {"mix_step": 5, "steps": 4}, "mix_step"),
        (SmoothAdv, {"sigma": -1.0}, "sigma"),
        (SmoothAdv, {"noises": 0}, "noises"),
        (PGDTraining, {"norm": "l1"}, "norm"),
        (TRADES, {"steps": 0}, "steps"),
        (SmoothMix, {"warm_up": 10.0}, "warm_up"),
    ],
)
def test_an_impossible_option_is_refused_by_name(method: type, options: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        method(**options)


def test_pgd_training_and_smoothadv_clip_to_the_box_before_they_renorm(net: nn.Module) -> None:
    """One long step by hand: what leaves the box is cut off first, and the rest keeps the full radius."""
    batch = images()
    batch = Batch(batch.x.round(), batch.y, progress=1.0, generator=batch.generator)  # half of it leaves
    x = batch.x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(labels.cross_entropy(net(x), batch.y).sum(), x)
    step = 2.0 * gradient / length(gradient).reshape(-1, 1, 1, 1)
    inside = (batch.x + step).clamp(0, 1) - batch.x
    expected = batch.x + inside * (1.0 / length(inside)).clamp(max=1).reshape(-1, 1, 1, 1)
    assert torch.allclose(PGDTraining(eps=1.0, steps=1).perturb(net, batch), expected, atol=1e-5)
    silent = torch.zeros(1, *batch.x.shape)
    moved = SmoothAdv(sigma=0.0, noises=1, eps=1.0, steps=1).moved(net, batch, silent)
    assert torch.allclose(moved, expected, atol=1e-5)
