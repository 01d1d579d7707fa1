"""Mixup: the law of its share, and that samples and labels mix alike."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from wassermix.augment import CutMix, Mixup
from wassermix.augment.mixing import beta_share
from wassermix.core.errors import InputError


@pytest.mark.parametrize("beta", [0.2, 1.0, 10.0])
def test_shares_follow_the_beta_law(beta: float) -> None:
    generator = torch.Generator().manual_seed(0)
    shares = [beta_share(beta, generator) for _ in range(500)]
    assert stats.kstest(shares, stats.beta(beta, beta).cdf).pvalue > 0.01


def test_samples_and_labels_mix_by_one_share_and_one_pairing() -> None:
    identity = torch.eye(9, dtype=torch.float64)  # a sample says itself with whom it was mixed
    x, y = Mixup(num_classes=9)(identity, torch.arange(9), generator=torch.Generator().manual_seed(1))
    assert torch.allclose(x, y)
    share = x.diagonal()
    assert torch.equal(share[share < 1], share.min().expand((share < 1).sum()))


def test_a_mixed_sample_lies_between_its_two() -> None:
    x = torch.rand(20, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    mixed, _ = Mixup(num_classes=2)(x, torch.arange(20) % 2, generator=torch.Generator().manual_seed(2))
    assert (mixed <= x.amax(dim=0) + 1e-6).all()
    assert (mixed >= x.amin(dim=0) - 1e-6).all()
    assert torch.allclose(mixed.mean(dim=0), x.mean(dim=0), atol=1e-6)


@pytest.mark.parametrize(("ours", "theirs"), [(Mixup, "MixUp"), (CutMix, "CutMix")])
def test_the_law_is_that_of_torchvision(ours: type, theirs: str) -> None:
    transforms = pytest.importorskip("torchvision.transforms.v2", exc_type=ImportError)
    reference = getattr(transforms, theirs)(alpha=0.5, num_classes=4)
    augment, generator = ours(beta=0.5, num_classes=4), torch.Generator().manual_seed(0)
    x, y = torch.rand(4, 1, 16, 16, generator=generator), torch.arange(4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        expected = [reference(x, y)[1][0] for _ in range(300)]
    got = [augment(x, y, generator=generator)[1][0] for _ in range(400)]
    # Their partner is always another sample; ours may be the sample itself, which tells nothing of the share.
    shares = [[one.max().item() for one in some if one[0] != 1] for some in (expected, got)]
    assert stats.ks_2samp(*shares).pvalue > 0.01


def test_a_beta_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="beta"):
        Mixup(beta=0.0)
