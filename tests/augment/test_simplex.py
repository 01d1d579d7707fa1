"""New samples between three classes at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from wassermix.augment import SimplexAugmenter
from wassermix.core.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def corners(count: int) -> tuple[Tensor, Tensor]:
    """Each class is one point, a corner of the simplex: there the place of a sample is its label."""
    y = torch.arange(count) % 3
    return torch.eye(3)[y], y


def test_where_classes_are_corners_a_sample_lies_at_its_own_weights() -> None:
    x, y = SimplexAugmenter(3, choice="random", ratio=2.0)(*corners(30), generator=seeded())
    assert len(x) == 60
    assert torch.allclose(x, y, atol=1e-5)
    assert int((y > 0).sum(dim=1).min()) == 3


def test_random_weights_are_uniform_on_the_simplex() -> None:
    augment = SimplexAugmenter(3, choice="random", pair_size=1, ratio=1000.0, reservoir=0)
    _, y = augment(*corners(3), generator=seeded())
    assert y.mean(dim=0).numpy() == pytest.approx([1 / 3] * 3, abs=0.02)
    assert float((y[:, 0] > 0.5).float().mean()) == pytest.approx(0.25, abs=0.03)  # (1 - 1/2)^2


def test_the_worst_weights_are_worse_for_the_model_than_random_ones() -> None:
    model = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.diag(torch.tensor([9.0, 9.0, -9.0])))  # wrong towards the third class
    shares = {}
    for choice in ("worst", "random"):
        augment = SimplexAugmenter(3, choice=choice, steps=8, pair_size=2, ratio=20.0)
        shares[choice] = float(augment(*corners(30), model=model, generator=seeded())[1][:, 2].mean())
    assert shares["worst"] > shares["random"] + 0.2


def test_two_classes_are_mixed_where_the_third_is_absent_and_one_alone_comes_back() -> None:
    x, y = corners(30)
    _, pair = SimplexAugmenter(3, choice="random")(x[y < 2], y[y < 2], generator=seeded())
    assert len(pair) == 20
    assert torch.equal(pair[:, 2], torch.zeros(20))
    same, label = SimplexAugmenter(3, choice="random")(x[y == 0], y[y == 0])
    assert torch.equal(same, x[y == 0])
    assert torch.equal(label, torch.eye(3)[:1].expand(10, 3))


def test_the_reservoir_brings_classes_back_until_an_epoch_begins() -> None:
    x, y = corners(30)
    augment = SimplexAugmenter(3, choice="random")
    augment(x, y, generator=seeded())
    alone = x[y == 0], y[y == 0]
    assert not torch.equal(augment(*alone, generator=seeded())[0], alone[0])
    augment.begin_epoch()
    assert torch.equal(augment(*alone, generator=seeded())[0], alone[0])


@pytest.mark.parametrize(
    "options",
    [
        {"classes": 1}, {"ratio": -1.0}, {"pair_size": 0}, {"entropy": 0.0}, {"steps": 0},
        {"search_share": 0.0}, {"reservoir": -1}, {"choice": "best"}, {"score": "accuracy"},
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        SimplexAugmenter(3, **options)


def test_the_worst_weights_need_a_model() -> None:
    with pytest.raises(InputError, match="give a model"):
        SimplexAugmenter(3)(*corners(6))
