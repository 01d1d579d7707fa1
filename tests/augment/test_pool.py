"""The pool: every sample gets its turn."""

from __future__ import annotations

import pytest
import torch

from wassermix.augment.pool import Pool


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
