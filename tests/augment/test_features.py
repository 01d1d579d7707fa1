"""Geodesics in a hidden layer."""

from __future__ import annotations

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn

from wassermix.augment import FeatureGeodesic
from wassermix.core import labels
from wassermix.core.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def net() -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=seeded(2)))
    return model


def test_each_class_moves_towards_another_and_its_label_with_it() -> None:
    model, x, y = net(), torch.randn(30, 5, generator=seeded()), torch.arange(30) % 3
    hidden: list[torch.Tensor] = []
    model[2].register_forward_pre_hook(lambda _, args: hidden.append(args[0].detach()))  # type: ignore
    plain = model[:2](x).detach()  # type: ignore
    with FeatureGeodesic(num_classes=3, layer="1").on(model, x, y, generator=seeded(1)) as target:
        logits = model(x)
    t = 1 - float(target.max(dim=1).values.min())
    assert 0 < t <= 0.5
    assert torch.allclose(target.sum(dim=1), torch.ones(30))
    for kind in range(3):
        other = int(target[y == kind][0].argsort()[-2])
        means = (1 - t) * plain[y == kind].mean(0) + t * plain[y == other].mean(0)  # plans keep the mean
        assert torch.allclose(hidden[0][y == kind].mean(0), means, atol=1e-3)
    nn.functional.cross_entropy(logits, target).backward()
    assert all(p.grad is not None for p in model.parameters())


def test_outside_the_model_is_itself_again() -> None:
    model, x, y = net(), torch.randn(9, 5, generator=seeded()), torch.arange(9) % 3
    before = model(x)
    with FeatureGeodesic(num_classes=3, layer="1").on(model, x, y):
        inside = model(x)
    assert torch.equal(model(x), before)
    assert not torch.equal(inside, before)


def test_one_class_alone_stays_where_it_is() -> None:
    model, x, y = net(), torch.randn(9, 5, generator=seeded()), torch.zeros(9).long()
    with FeatureGeodesic(num_classes=3, layer="0").on(model, x, y) as target:
        assert model(x).shape == (9, 3)
    assert torch.equal(target.argmax(dim=1), y)


def test_a_layer_that_does_not_exist_is_refused() -> None:
    with (
        pytest.raises(InputError, match="no layer 'stage9'"),
        FeatureGeodesic(num_classes=3, layer="stage9").on(net(), torch.zeros(1, 5), torch.zeros(1).long()),
    ):
        pass


@pytest.mark.parametrize("forwards", [0, 2])
def test_labels_are_never_mixed_without_the_features_or_the_features_twice(forwards: int) -> None:
    model, x, y = net(), torch.randn(9, 5, generator=seeded()), torch.arange(9) % 3
    with (
        pytest.raises(InputError, match=f"ran {forwards} times"),
        FeatureGeodesic(num_classes=3, layer="1").on(model, x, y),
    ):
        [model(x) for _ in range(forwards)]


@pytest.mark.parametrize("pairing", ["exact", "random"])
def test_partners_of_equal_classes_are_samples_of_the_next_class(pairing: str) -> None:
    model, x, y = net(), torch.randn(20, 5, generator=seeded()), torch.arange(20) % 2
    augment = FeatureGeodesic(num_classes=2, layer="1", t_max=1.0, pairing=pairing)  # type: ignore[arg-type]
    plain = model[:2](x).detach()  # type: ignore[index]
    home, other = plain[y == 0], plain[y == 1]
    image = augment._image(home, other)
    assert float(torch.cdist(image, other).amin(dim=1).max()) < 1e-6
    if pairing == "exact":
        _, columns = linear_sum_assignment(torch.cdist(home, other).square().numpy())
        assert torch.allclose(image, other[torch.as_tensor(columns)], atol=1e-6)
    else:
        assert torch.equal(image, other)


def test_the_worst_of_the_times_is_no_better_than_any_of_them() -> None:
    model, x, y = net(), torch.randn(30, 5, generator=seeded()), torch.arange(30) % 3
    model.train()

    def loss(choice: str, candidates: int) -> float:
        augment = FeatureGeodesic(
            num_classes=3,
            layer="1",
            choice=choice,
            candidates=candidates,  # type: ignore[arg-type]
        )
        with augment.on(model, x, y, generator=seeded(1)) as target:
            return float(labels.kl_score(model(x), target).mean().detach())

    assert loss("worst", 8) >= loss("worst", 1)  # one alone is t_max, which is always tried
    assert model.training
    assert FeatureGeodesic(num_classes=3, choice="worst", candidates=6).passes == 2.0
    assert FeatureGeodesic(num_classes=3).passes == 0.0
