"""PuzzleMix: its cut against all masks, its prices pixel by pixel, its transport by its rules."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import Tensor, nn

from wassermix.augment import PuzzleMix
from wassermix.augment.grid_cut import cut_grid
from wassermix.augment.patches import border_costs, move_patches, transport_plan
from wassermix.augment.puzzlemix import input_saliency
from wassermix.core.errors import InputError


def cut_energy(labels: np.ndarray, unary: np.ndarray, right: np.ndarray, down: np.ndarray) -> float:
    """What :func:`cut_grid` minimises, for one grid of labels ``(a, b)``."""
    share = labels / (unary.shape[2] - 1)
    price = np.take_along_axis(unary, labels[..., None], axis=2).sum()
    price += (right * np.diff(share, axis=1) ** 2).sum() + (down * np.diff(share, axis=0) ** 2).sum()
    return float(price)


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (1, 4), (1, 1)])
def test_the_cut_is_the_best_of_all_labellings(levels: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(levels)
    for _ in range(2):
        unary = rng.normal(size=(*shape, levels))
        right = 2 * rng.random((shape[0], shape[1] - 1))
        down = 2 * rng.random((shape[0] - 1, shape[1]))
        got = cut_energy(cut_grid(unary, right, down), unary, right, down)
        masks = product(range(levels), repeat=shape[0] * shape[1])
        best = min(cut_energy(np.reshape(mask, shape), unary, right, down) for mask in masks)
        assert got == pytest.approx(best, abs=1e-6)


def test_a_binary_three_by_three_cut_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    unary, right, down = rng.normal(size=(3, 3, 2)), rng.random((3, 2)), rng.random((2, 3))
    best = min(cut_energy(np.reshape(m, (3, 3)), unary, right, down) for m in product((0, 1), repeat=9))
    assert cut_energy(cut_grid(unary, right, down), unary, right, down) == pytest.approx(best, abs=1e-6)


def test_a_grid_without_prices_has_a_cut() -> None:
    assert cut_grid(np.zeros((2, 2, 3)), np.zeros((2, 1)), np.zeros((1, 2))).shape == (2, 2)


def pictures(count: int = 3, size: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(count, 2, size, size, generator=generator, dtype=torch.float64)
    saliency = torch.rand(count, size, size, generator=generator, dtype=torch.float64) ** 3
    return x, saliency, torch.tensor([1, 2, 0])


def written_out(
    mix: PuzzleMix, x: Tensor, saliency: Tensor, other: int, mask: np.ndarray, *, share: float, index: int
) -> float:
    """The energy of a binary mask on a 2 x 2 grid, from its definition."""
    half = x.shape[2] // 2
    lost = [saliency[i].reshape(2, half, 2, half).mean(dim=(1, 3)).numpy() for i in (index, other)]
    lost = [one / one.sum() for one in lost]
    energy = float((mask * lost[1] + (1 - mask) * lost[0]).sum())
    energy += mix.prior / 4 * -binom.logpmf(mask, 1, share).sum()
    unit = mix.smoothness / 32
    pooled = x.reshape(len(x), 2, 2, 4, 2, 4).mean(dim=(3, 5)).numpy()  # squares of 4 x 4: here whole blocks
    for (a, b), (c, d) in (((0, 0), (0, 1)), ((1, 0), (1, 1)), ((0, 0), (1, 0)), ((0, 1), (1, 1))):
        one = pooled[index if mask[a, b] else other, :, a, b]
        two = pooled[index if mask[c, d] else other, :, c, d]
        energy += unit * mix.border * np.abs(one - two).mean() + unit * (mask[a, b] - mask[c, d]) ** 2
    return energy


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_mask_is_the_best_by_the_energy_written_out(share: float) -> None:
    x, saliency, pairs = pictures()
    mix = PuzzleMix(levels=2)
    masks = mix.mask(x, saliency, pairs, blocks=2, share=share).numpy()
    for index in range(3):
        prices = {
            bits: written_out(
                mix, x, saliency, int(pairs[index]), np.reshape(bits, (2, 2)), share=share, index=index
            )
            for bits in product((0.0, 1.0), repeat=4)
        }
        assert prices[tuple(masks[index].ravel())] == pytest.approx(min(prices.values()), abs=1e-9)


def test_picture_jumps_become_prices_and_weights_without_loss() -> None:
    x, _, pairs = pictures()
    keep, give, right, down = (part.numpy() for part in border_costs(x, x[pairs], 2, scale=0.7))
    pooled = x.reshape(3, 2, 2, 4, 2, 4).mean(dim=(3, 5)).numpy()
    for index, bits in product(range(3), product((0, 1), repeat=4)):
        mask = np.reshape(bits, (2, 2))
        chosen = np.where(mask, pooled[index], pooled[pairs[index]])
        jumps = (
            np.abs(np.diff(chosen, axis=1)).mean(axis=0).sum()
            + np.abs(np.diff(chosen, axis=2)).mean(axis=0).sum()
        )
        split = (mask * keep[index] + (1 - mask) * give[index]).sum()
        split += (right[index] * np.diff(mask, axis=1) ** 2).sum() + (
            down[index] * np.diff(mask, axis=0) ** 2
        ).sum()
        zero = (give[index]).sum() - 0.7 * _jumps_of(pooled[pairs[index]])
        assert split - zero == pytest.approx(0.7 * jumps)


def _jumps_of(pooled: np.ndarray) -> float:
    return float(sum(np.abs(np.diff(pooled, axis=axis)).mean(axis=0).sum() for axis in (1, 2)))


def test_patches_stay_where_all_is_shown() -> None:
    weight = torch.rand(2, 4, 4, generator=torch.Generator().manual_seed(0))
    plan = transport_plan(weight, torch.ones(2, 4, 4, dtype=torch.bool), price=0.8)
    assert torch.equal(plan, torch.arange(16).expand(2, -1))


def test_a_heavy_hidden_patch_moves_to_the_nearest_place_that_shows() -> None:
    weight = torch.zeros(1, 3, 3)
    weight[0, 0, 0] = 1.0
    shown = torch.zeros(1, 3, 3, dtype=torch.bool)
    shown[0, 0, 1:] = True
    plan = transport_plan(weight, shown, price=0.8)
    assert plan[0, 1] == 0


def test_of_two_that_want_one_place_the_heavier_wins() -> None:
    weight, shown = torch.zeros(1, 3, 3), torch.zeros(1, 3, 3, dtype=torch.bool)
    weight[0, 1, 0], weight[0, 1, 2] = 0.4, 0.6
    shown[0, 1, 1] = True
    assert transport_plan(weight, shown, price=0.5)[0, 4] == 5


def test_moving_patches_puts_each_where_the_plan_says() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    moved = move_patches(x, torch.tensor([[3, 1, 2, 0]]))
    assert moved[0, 0].tolist() == [[10, 11, 2, 3], [14, 15, 6, 7], [8, 9, 0, 1], [12, 13, 4, 5]]


def test_saliency_is_the_size_of_the_input_gradient() -> None:
    weight = torch.randn(1, 2 * 9, generator=torch.Generator().manual_seed(0))
    net = nn.Sequential(nn.Flatten(), nn.Linear(18, 2, bias=False))
    with torch.no_grad():
        net[1].weight.copy_(torch.cat([weight, 0 * weight]))
    x = torch.zeros(1, 2, 3, 3)  # both classes even: the gradient is (p_0 - 1) w = -w / 2
    expected = (weight.reshape(2, 3, 3) / 2).square().mean(dim=0).sqrt()
    assert torch.allclose(input_saliency(net, x, torch.tensor([0]))[0], expected, atol=1e-6)


def test_labels_have_the_share_of_the_mask() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(128, 3)).double()
    mix = PuzzleMix(num_classes=3, transport=0.0, grids=(4,))
    black_and_white = torch.stack([torch.zeros(2, 8, 8), torch.ones(2, 8, 8)]).double()
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        mixed, y = mix(black_and_white, torch.tensor([0, 1]), model=net, generator=generator)
        assert torch.allclose(y[:, 1], mixed.mean(dim=(1, 2, 3)))


def test_images_that_no_grid_divides_get_a_sentence() -> None:
    with pytest.raises(InputError, match="7x7"):
        PuzzleMix(num_classes=2)(torch.rand(2, 1, 7, 7), torch.tensor([0, 1]), model=nn.Flatten())


def test_a_model_is_needed() -> None:
    with pytest.raises(InputError, match="model"):
        PuzzleMix(num_classes=2)(torch.rand(2, 1, 8, 8), torch.tensor([0, 1]))
