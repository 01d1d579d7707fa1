"""The simple rivals: noise by each feature's spread, mixing inside classes, smoothed labels."""

from __future__ import annotations

import pytest
import torch

from wassermix.augment import Jitter, JointGeodesic, PuzzleMix, WithinClass
from wassermix.core import labels
from wassermix.core.errors import InputError
from wassermix.methods import ERM, Batch, Gaussian


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_jitter_moves_each_feature_by_its_own_spread() -> None:
    spread = torch.tensor([0.01, 1.0, 100.0])
    x = spread * torch.randn(4000, 3, generator=seeded())
    new, y = Jitter(scale=0.2, ratio=2.0, num_classes=2)(x, torch.arange(4000) % 2, generator=seeded(1))
    assert len(new) == 8000
    moved = (new - x.repeat(2, 1)).std(dim=0) / spread
    assert moved.tolist() == pytest.approx([0.2] * 3, rel=0.05)
    assert torch.equal(y, torch.eye(2)[torch.arange(8000) % 2])


def test_jittered_images_stay_in_their_box() -> None:
    x = torch.rand(20, 1, 4, 4, generator=seeded())
    new, _ = Jitter(scale=5.0, num_classes=2)(x, torch.arange(20) % 2, generator=seeded())
    assert float(new.min()) == 0
    assert float(new.max()) == 1
    with pytest.raises(InputError, match="scale"):
        Jitter(scale=-1.0)


def test_within_a_class_labels_stay_and_samples_lie_between_their_own() -> None:
    y = torch.randint(0, 3, (50,), generator=seeded())
    x = 10.0 * y[:, None] + torch.rand(50, 2, generator=seeded())
    mixed, target = WithinClass(num_classes=3)(x, y, generator=seeded(1))
    assert torch.equal(target, labels.soft(y, 3))
    for c in range(3):
        low, high = x[y == c].amin(dim=0), x[y == c].amax(dim=0)
        assert bool(((mixed[y == c] >= low - 1e-5) & (mixed[y == c] <= high + 1e-5)).all())
        assert torch.allclose(mixed[y == c].mean(dim=0), x[y == c].mean(dim=0), atol=1e-5)
    assert not torch.allclose(mixed, x)


@pytest.mark.parametrize("method", [ERM(smoothing=0.3), Gaussian(sigma=0.0, smoothing=0.3)])
def test_smoothed_labels_are_those_of_torch(method: ERM | Gaussian) -> None:
    x, y = torch.randn(6, 4, generator=seeded()), torch.tensor([0, 1, 2, 3, 0, 1])
    expected = torch.nn.functional.cross_entropy(x, y, label_smoothing=0.3)
    got = method.loss(lambda point: point, Batch(x, y))["ce"]
    assert float(got) == pytest.approx(float(expected))
    with pytest.raises(InputError, match="smoothing"):
        type(method)(smoothing=1.5)


def test_puzzlemix_takes_small_integers_and_images_that_carry_a_gradient() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    x = torch.rand(6, 1, 8, 8, generator=seeded())
    y = torch.tensor([0, 1, 2, 0, 1, 2], dtype=torch.int32)
    mix = PuzzleMix(num_classes=3, grids=(4,))
    plain, target = mix(x, y, model=net, generator=seeded())
    carrying = x.clone().requires_grad_()
    again, _ = mix(carrying, y, model=net, generator=seeded())
    assert torch.allclose(plain, again.detach())
    assert torch.allclose(target.sum(dim=1), torch.ones(6))
    again.sum().backward()
    assert carrying.grad is not None


def test_joint_geodesics_mix_labels_less_the_more_labels_weigh() -> None:
    generator = seeded(2)
    y = torch.arange(40) % 2
    x = torch.randn(40, 2, generator=generator) + y[:, None]
    mixed = []
    for weight in (1e-3, 1e3):
        new, label = JointGeodesic(2, label_weight=weight, ratio=1.5)(x, y, generator=seeded(3))
        assert len(new) == 60
        assert torch.allclose(label.sum(dim=1), torch.ones(60), atol=1e-4)
        mixed.append(int((label.max(dim=1).values < 0.999).sum()))
    assert mixed[0] > mixed[1]
    alone, _ = JointGeodesic(2)(x[:1], y[:1])
    assert torch.equal(alone, x[:1])
