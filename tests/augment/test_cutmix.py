"""CutMix: one box, labels by area."""

from __future__ import annotations

import pytest
import torch

from wassermix.augment import CutMix
from wassermix.augment.cutmix import cut_box
from wassermix.core.errors import InputError


@pytest.mark.parametrize("seed", range(6))
def test_labels_have_the_share_of_the_pixels(seed: int) -> None:
    count, size = 7, (12, 9)
    x = torch.arange(count).reshape(-1, 1, 1, 1).expand(-1, 2, *size).double()  # an image is its own number
    mixed, y = CutMix(num_classes=count)(
        x, torch.arange(count), generator=torch.Generator().manual_seed(seed)
    )
    areas = torch.stack([(mixed == one).double().mean(dim=(1, 2, 3)) for one in range(count)], dim=1)
    assert torch.allclose(y, areas)


@pytest.mark.parametrize("seed", range(6))
def test_one_rectangle_is_pasted_into_all_images(seed: int) -> None:
    x = torch.rand(8, 1, 10, 10, generator=torch.Generator().manual_seed(9))
    mixed, _ = CutMix(num_classes=2)(x, torch.arange(8) % 2, generator=torch.Generator().manual_seed(seed))
    changed = (mixed != x).any(dim=0)[0]
    rows, columns = changed.any(dim=1).nonzero().flatten(), changed.any(dim=0).nonzero().flatten()
    assert changed.sum() == len(rows) * len(columns)
    if len(rows):
        assert rows.max() - rows.min() + 1 == len(rows)
        assert columns.max() - columns.min() + 1 == len(columns)


def test_a_box_has_the_sides_of_its_share_and_is_clipped() -> None:
    assert cut_box(0.75, (20, 40), centre=(0.5, 0.5)) == (5, 15, 10, 30)
    assert cut_box(0.75, (20, 40), centre=(0.0, 0.99)) == (0, 5, 29, 40)
    assert cut_box(1.0, (20, 40), centre=(0.3, 0.3)) == (6, 6, 12, 12)
    assert cut_box(0.0, (20, 40), centre=(0.5, 0.5)) == (0, 20, 0, 40)


def test_a_batch_that_is_not_cut_passes_with_soft_labels() -> None:
    x, y = torch.rand(4, 1, 5, 5), torch.tensor([0, 1, 2, 0])
    got, target = CutMix(num_classes=3, probability=0.0)(x, y)
    assert torch.equal(got, x)
    assert torch.equal(target, torch.eye(3)[y])


def test_vectors_and_impossible_options_get_a_sentence() -> None:
    with pytest.raises(InputError, match="images"):
        CutMix(num_classes=2)(torch.rand(4, 5), torch.tensor([0, 1, 0, 1]))
    with pytest.raises(InputError, match="probability"):
        CutMix(probability=2.0)
