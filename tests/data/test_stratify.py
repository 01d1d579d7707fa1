"""Stratified parts: sizes, shares and repeatability for any mixture of classes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.data.stratify import part_away, stratified

sizes = st.lists(st.integers(1, 40), min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(sizes=sizes, data=st.data())
def test_the_count_is_exact_and_each_class_gets_its_share(sizes, data):
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    y = y[torch.randperm(len(y), generator=stream(0, "mix"))]
    count = data.draw(st.integers(len(sizes), len(y)))
    chosen = stratified(y, count, stream(1, "choice"))
    assert len(chosen) == count == len(chosen.unique())
    got = torch.bincount(y[chosen], minlength=len(sizes)).tolist()
    ideal = [size * count / len(y) for size in sizes]
    assert all(1 <= part <= size for part, size in zip(got, sizes))
    if min(ideal) >= 1:
        assert all(abs(part - share) <= 1 for part, share in zip(got, ideal))


def test_the_same_seed_gives_the_same_part_and_another_seed_another():
    y = torch.arange(300) % 3
    first, again, other = (stratified(y, 60, stream(seed, "x")) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("count", [1, 31])
def test_too_few_or_too_many_samples_are_refused(count):
    with pytest.raises(InputError, match=r"between 3 .* and 30"):
        stratified(torch.arange(30) % 3, count, stream(0, "x"))


def test_two_parts_make_the_whole():
    y = torch.arange(100) % 4
    kept, away = part_away(y, 0.25, seed=3, what="data.holdout")
    assert torch.cat([kept, away]).sort().values.tolist() == list(range(100))
    assert torch.bincount(y[away]).tolist() in ([7, 6, 6, 6], [6, 7, 6, 6], [6, 6, 7, 6], [6, 6, 6, 7])


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(InputError, match="share between 0 and 1"):
        part_away(torch.arange(10) % 2, share, seed=0, what="data.test_share")


def test_a_share_of_less_than_one_sample_is_refused():
    with pytest.raises(InputError, match="raise it"):
        part_away(torch.arange(10) % 2, 0.01, seed=0, what="data.holdout")
