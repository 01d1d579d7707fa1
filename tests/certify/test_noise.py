"""Certification noise: the published generator, one stream of bits for each block, and its law."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from certify import reference
from wassermix.certify.kernels import fill_words
from wassermix.certify.noise import NoiseKey, gaussian, random_words, unit
from wassermix.core.errors import InputError


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_is_the_published_one(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """The known answers that come with the generator's paper; the compiled loop starts at position 0."""
    assert reference.philox(counter, key) == expected
    compiled = np.empty(8, dtype=np.uint32)
    fill_words(np.array([*key, *counter[1:]], dtype=np.uint64), compiled)
    assert tuple(compiled[:4]) == reference.philox((0, *counter[1:]), key)
    assert tuple(compiled[4:]) == reference.philox((1, *counter[1:]), key)


def test_seed_image_block_and_purpose_all_enter_unhashed() -> None:
    got = random_words(NoiseKey(2**40 + 3, "count", 2**33 + 7, 9), 8)
    expected = [reference.words(2**40 + 3, 1, 2**33 + 7, 9, position) for position in (0, 1)]
    assert got.tolist() == [word for four in expected for word in four]


def test_seeds_beyond_32_bits_and_negative_ones_have_noise_of_their_own() -> None:
    """A generator that keeps 32 bits of its seed gives 5 and 5 + 2**32 the same noise."""
    drawn = {tuple(random_words(NoiseKey(seed, "count", 0, 0), 8)) for seed in (5, 5 + 2**32, -1, 0, 2**63)}
    assert len(drawn) == 5


def test_no_two_blocks_share_their_bits() -> None:
    """40,000 blocks: two equal ones among 2^32 would be a 17% event, among 2^128 none."""
    keys = [
        NoiseKey(seed, purpose, index, block)
        for seed in (0, 1)
        for purpose in ("pick", "count")
        for index in range(100)
        for block in range(100)
    ]
    assert len({random_words(key, 4).tobytes() for key in keys}) == len(keys)


@pytest.mark.parametrize(("index", "block"), [(-1, 0), (0, -1), (2**40, 0), (0, 2**32)])
def test_what_the_counter_cannot_hold_is_refused(index: int, block: int) -> None:
    with pytest.raises(InputError, match="expected an index"):
        NoiseKey(0, "count", index, block)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_float_noise_is_standard_normal(dtype: torch.dtype) -> None:
    noise = torch.cat(
        [gaussian(NoiseKey(0, "count", i, 0), torch.empty(50_000, dtype=dtype)) for i in (0, 1)]
    )
    assert torch.isfinite(noise).all()
    assert stats.kstest(noise.double().numpy(), "norm").pvalue > 1e-4
    first, second = noise[:25_000].double(), noise[25_000:50_000].double()  # the two halves of Box and Muller
    assert abs(float((first * second).mean())) < 4 / np.sqrt(25_000)


def test_a_block_is_the_same_however_often_it_is_drawn() -> None:
    first, again = (gaussian(NoiseKey(3, "pick", 5, 1), torch.empty(128, 7)) for _ in range(2))
    assert torch.equal(first, again)


def test_one_uniform_number_is_strictly_inside_and_uniform() -> None:
    drawn = np.array([unit(NoiseKey(0, "bound", index, 0)) for index in range(2000)])
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4
