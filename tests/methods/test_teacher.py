"""A teacher's votes against the share that a Gaussian noise gives in closed form."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from wassermix.data import TensorSplit
from wassermix.methods.protocol import Counting
from wassermix.methods.teacher import count_votes, votes_on, with_unvoted

SIGMA = 0.5
PLACES = torch.linspace(-1, 1, 9).unsqueeze(1)
SAMPLES = TensorSplit(PLACES, torch.zeros(9, dtype=torch.long))


def _by_sign(x: Tensor) -> Tensor:
    """Class 1 right of the origin, class 0 left of it; class 2 never."""
    return torch.cat([-x, x, torch.full_like(x, -9)], dim=1)


def _counted(draws: int, seed: int = 0) -> Tensor:
    drawn = torch.Generator().manual_seed(seed)
    return count_votes(_by_sign, SAMPLES, Counting(SIGMA, draws), generator=drawn)


def test_the_share_of_votes_is_the_noises_on_the_side_of_a_class() -> None:
    votes, right = _counted(4000).double(), torch.from_numpy(norm.cdf(PLACES[:, 0].numpy() / SIGMA))
    expected = torch.stack([1 - right, right, torch.zeros(9)], dim=1)
    torch.testing.assert_close(votes, expected.double(), atol=4 * 0.5 / 4000**0.5, rtol=0)


def test_a_teacher_votes_the_same_again_and_otherwise_with_another_seed() -> None:
    assert _counted(300).equal(_counted(300))
    assert not _counted(300).equal(_counted(300, seed=1))


def test_it_is_told_how_many_samples_have_been_voted_on() -> None:
    told: list[int] = []
    drawn = torch.Generator().manual_seed(0)
    count_votes(_by_sign, SAMPLES, Counting(SIGMA, 64), generator=drawn, counted=told.append)
    assert told == [4, 8, 9]


def test_votes_are_found_by_index_and_missing_beside_the_training_set() -> None:
    votes, cpu = torch.tensor([[1.0, 0.0], [0.25, 0.75]]), torch.device("cpu")
    found = votes_on(votes, torch.tensor([1, 2, 0]), cpu)
    assert found is not None
    assert found[[0, 2]].tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert found[1].isnan().all()
    assert votes_on(None, torch.tensor([0]), cpu) is None


def test_samples_put_beside_a_batch_have_no_votes() -> None:
    votes = with_unvoted(torch.tensor([[1.0, 0.0]]), 2)
    assert votes is not None
    assert votes[0].tolist() == [1.0, 0.0]
    assert votes[1:].isnan().all()
    assert votes.shape == (3, 2)
    assert with_unvoted(None, 2) is None


@pytest.mark.parametrize("draws", [1, 2000])
def test_votes_are_shares_however_many(draws: int) -> None:
    torch.testing.assert_close(_counted(draws).sum(dim=1), torch.ones(9))
