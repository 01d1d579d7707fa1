"""The pool: every sample gets its turn."""

from __future__ import annotations

import pytest
import torch

from wassermix.augment.pool import Pool, near_weights
from wassermix.core.errors import InputError


@pytest.mark.parametrize("count", [1, 3, 4, 7, 10, 12])
def test_all_samples_of_a_class_come_equally_often_and_none_twice_in_a_deal(count: int) -> None:
    y = torch.cat([torch.ones(10), torch.zeros(5)]).long()
    pool = Pool(torch.zeros(15, 1), y, 2, torch.Generator().manual_seed(0))
    seen = torch.zeros(15)
    for _ in range(40):
        dealt = pool.deal(1, count)
        assert len(dealt.unique()) == len(dealt) == min(count, 10)
        seen[dealt] += 1
        assert seen[:10].max() - seen[:10].min() <= 1
    assert seen[10:].sum() == 0


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_nearness_does_not_depend_on_the_unit_and_survives_equal_classes(scale: float) -> None:
    cloud = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    rows = scale * torch.cat([cloud, cloud + 2, cloud + 4])
    weights = near_weights(Pool(rows, torch.arange(120) // 40, 3, None), 0.02)
    # A translation by v costs |v|^2: 12, 12 and 48; weights are its power -4.
    assert weights[0, 1] == pytest.approx(1, rel=0.1)
    assert weights[1, 2] == pytest.approx(1, rel=0.1)
    assert weights[0, 2] == pytest.approx(4.0**-4, rel=0.1)
    same = near_weights(Pool(torch.zeros(80, 1), torch.arange(80) // 40, 2, None), 0.02)
    assert torch.equal(same, 1 - torch.eye(2))


def test_a_class_with_one_sample_does_not_decide_how_the_others_are_compared() -> None:
    near, far = torch.zeros(50, 2), torch.zeros(50, 2)
    near[::2, 0], near[1::2, 0], far[:, 0] = 10, -10, 9.0
    y = torch.cat([torch.zeros(50), torch.ones(50), torch.full((1,), 2)]).long()
    weights = near_weights(Pool(torch.cat([near, far, torch.tensor([[0.0, 100.0]])]), y, 3, None), 0.02)
    # W2^2 of classes 0 and 1 is (1 + 19^2) / 2 whichever samples are drawn.
    cost01, cost02 = (1 + 19**2) / 2, 100 + 100**2
    assert weights[0, 2] / weights[0, 1] == pytest.approx((cost01 / cost02) ** 4, rel=0.1)


def test_classes_beyond_the_number_given_are_refused() -> None:
    with pytest.raises(InputError, match="classes run from 0 to 4; expected 0 to num_classes - 1 = 2"):
        Pool(torch.zeros(10, 1), torch.arange(10) % 5, 3, None)
