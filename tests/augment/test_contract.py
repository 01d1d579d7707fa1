"""What every augmenter must do, driven from one table."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wassermix.augment import AUGMENTERS
from wassermix.augment.protocol import Augmentation
from wassermix.engine.objective import Extras, Objective
from wassermix.methods import Batch, Gaussian

CLASSES = 3
NAMES = sorted(AUGMENTERS.shipped)
MIXING = [name for name in NAMES if not AUGMENTERS.find(name).adds]
INSIDE = {name for name in NAMES if hasattr(AUGMENTERS.find(name), "on")}
VECTORS = sorted(set(NAMES) - {"cutmix", "puzzlemix"} - INSIDE)
OPTIONS: dict[str, dict[str, Any]] = {
    "manifold": {"layers": ("input", "0")},
    "feature-geodesic": {"layer": "0"},
    "geodesic": {"mode": "online", "pair_size": 4},
    "simplex": {"pair_size": 4},
}


def make(name: str) -> Any:
    return AUGMENTERS.find(name)(num_classes=CLASSES, **OPTIONS.get(name, {}))


def net() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        body = (nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        return nn.Sequential(*body, nn.Linear(4 * 36, CLASSES))


def data(count: int, *shape: int) -> tuple[Tensor, Tensor]:
    x = torch.rand(count, *(shape or (2, 8, 8)), generator=torch.Generator().manual_seed(0))
    return x, torch.arange(count) % CLASSES


def augmented(name: str, x: Tensor, y: Tensor, seed: int = 0, model: Any = None) -> tuple[Tensor, Tensor]:
    """The samples and labels; for mixing inside, the logits."""
    augment, generator = make(name), torch.Generator().manual_seed(seed)
    model = net() if model is None else model
    if name not in INSIDE:
        return augment(x, y, model=model, generator=generator)
    with augment.on(model, x, y, generator=generator) as target:
        return model(x), target


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [7, 6])
def test_labels_are_probabilities_and_samples_finite(name: str, count: int) -> None:
    x, y = augmented(name, *data(count))
    assert torch.isfinite(x).all()
    assert y.shape == (len(x), CLASSES)
    assert y.sum(dim=1).numpy() == pytest.approx([1.0] * len(y), abs=1e-5)
    assert y.min() >= 0


@pytest.mark.parametrize("name", MIXING)
def test_a_batch_mixed_keeps_its_size_even_of_one(name: str) -> None:
    for count in (1, 5):
        x, y = data(count)
        assert [len(part) for part in augmented(name, x, y)] == [count, count]


@pytest.mark.parametrize("name", MIXING)
def test_one_sample_has_only_itself_to_mix_with(name: str) -> None:
    x, y = data(1)
    model = net().eval()
    got, target = augmented(name, x, y, model=model)
    expected = model(x) if name in INSIDE else x
    assert torch.allclose(got, expected, atol=1e-6)
    assert torch.allclose(target, torch.eye(CLASSES)[y])


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_mixed_as_images_are(name: str) -> None:
    x, y = augmented(name, *data(8, 5), model=nn.Linear(5, CLASSES))
    assert x.shape[1:] == (5,)
    assert len(x) == len(y)


@pytest.mark.parametrize("name", NAMES)
def test_soft_labels_and_columns_of_classes_are_taken(name: str) -> None:
    x, y = data(6)
    by_class = augmented(name, x, y)
    for labels in (torch.eye(CLASSES)[y], y[:, None]):
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(by_class, augmented(name, x, labels)))


@pytest.mark.parametrize("name", NAMES)
def test_a_generator_repeats_and_another_differs(name: str) -> None:
    x, y = data(9)
    first, again, other = (augmented(name, x, y, seed) for seed in (3, 3, 4))
    assert all(torch.equal(one, same) for one, same in zip(first, again))
    assert not all(torch.equal(one, another) for one, another in zip(first, other))


@pytest.mark.parametrize("name", NAMES)
def test_double_precision_stays_double(name: str) -> None:
    x, y = data(6)
    assert augmented(name, x.double(), y, model=net().double())[0].dtype == torch.float64


@pytest.mark.parametrize("name", NAMES)
def test_model_and_inputs_are_left_as_they_were_found(name: str) -> None:
    model, (x, y) = net(), data(6)
    model[1].eval()
    before = x.clone()
    augmented(name, x, y, model=model)
    assert [m.training for m in model] == [True, False, True, True, True]
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_trains_on_it_in_one_forward_of_the_wrapped_loss(name: str) -> None:
    model, (x, y) = net(), data(7)
    objective = Objective(
        model, Gaussian(sigma=0.1), num_classes=CLASSES, extras=Extras(Augmentation(make(name)))
    )
    trained: list[int] = []
    model.register_forward_pre_hook(lambda m, args: trained.append(len(args[0])) if m.training else None)
    terms = objective(Batch(x, y, generator=torch.Generator().manual_seed(0)))
    terms["ce"].backward()
    assert trained == [14 if make(name).adds else 7]
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_an_augmenter_says_what_it_is(name: str) -> None:
    augment = make(name)
    assert isinstance(augment.adds, bool)
    assert AUGMENTERS.find(name).__doc__
    assert augment.passes >= 0


@pytest.mark.parametrize("name", sorted(set(MIXING) - {"feature-geodesic"}))
def test_classes_without_their_number_are_refused(name: str) -> None:
    x, y = data(4)
    augment = AUGMENTERS.find(name)(**OPTIONS.get(name, {}))
    with (
        pytest.raises(ValueError, match="num_classes"),
        augment.on(net(), x, y) if name in INSIDE else nullcontext(),
    ):
        augment(x, y, model=net())
