"""k-mixup: the matching is the best of all, and blocks of one are mixup."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch

from wassermix.augment import KMixup
from wassermix.augment.kmixup import match_blocks
from wassermix.core.errors import InputError


@pytest.mark.parametrize("seed", range(5))
def test_a_block_is_matched_at_the_least_total_cost(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(5, 3, generator=generator, dtype=torch.float64)
    order = torch.randperm(5, generator=generator)
    pairs = match_blocks(x, torch.arange(5), order, block=5)
    cost = (x - x[pairs]).square().sum()
    best = min((x - x[list(other)]).square().sum() for other in permutations(range(5)))
    assert cost == pytest.approx(best.item(), abs=1e-12)


def test_every_sample_is_a_partner_once_also_in_a_short_last_block() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(11, 2, generator=generator)
    orders = [torch.randperm(11, generator=generator) for _ in range(2)]
    pairs = match_blocks(x, *orders, block=4)
    assert sorted(pairs.tolist()) == list(range(11))
    where = {int(one): index // 4 for index, one in enumerate(orders[1])}
    assert all(where[int(pairs[one])] == index // 4 for index, one in enumerate(orders[0]))


def test_a_block_of_one_pairs_as_the_permutations_say() -> None:
    x, orders = torch.rand(6, 2), [torch.tensor([2, 0, 1, 5, 4, 3]), torch.tensor([1, 2, 0, 3, 5, 4])]
    pairs = match_blocks(x, *orders, block=1)
    assert pairs[orders[0]].tolist() == orders[1].tolist()


def test_larger_blocks_mix_nearer_samples() -> None:
    x = torch.randn(64, 5, generator=torch.Generator().manual_seed(0))
    moved = [
        (KMixup(num_classes=1, block=block)(x, torch.zeros(64).long(), generator=seeded())[0] - x).norm()
        for block in (1, 8, 32)
    ]
    assert moved[0] > moved[1] > moved[2]


def test_no_sample_mixes_with_itself_even_in_a_small_batch() -> None:
    x, y = torch.eye(5), torch.arange(5)
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        mixed, _ = KMixup(num_classes=5, beta=50.0)(x, y, generator=generator)
        assert (mixed.diagonal() < 0.9).all()


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def test_an_empty_block_is_refused() -> None:
    with pytest.raises(InputError, match="block"):
        KMixup(block=0)
