"""A user's own augmenter, adversarial method and regulariser get from the engine what the shipped do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wassermix.augment.protocol import Augmentation
from wassermix.core import labels
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
from wassermix.embed import Embedding
from wassermix.engine import train
from wassermix.engine.objective import Extras, Objective, conditions_of
from wassermix.engine.settings import build_config
from wassermix.methods import Batch, Gaussian, compatible

ME = __name__
SEEN: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Shift:
    """An adversarial method: every coordinate moved by eps."""

    eps: float = 0.5
    sigma = 0.25
    passes = 4.0

    def perturb(self, model: Classifier, batch: Batch) -> Tensor:
        return batch.x + self.eps

    def loss(self, model: Classifier, batch: Batch) -> dict[str, Tensor]:
        return {"ce": labels.cross_entropy(model(self.perturb(model, batch)), batch.y).mean()}


@dataclass(frozen=True, kw_only=True)
class Double:
    """An augmenter that adds two copies of each sample, and notes what it was given."""

    num_classes: int
    embed: Embedding | None = None
    ratio: float = 2.0

    wants_embedding = True
    adds = True
    passes = 0.5
    scored_under = ("sigma", "attack")

    def __call__(
        self, x: Tensor, y: Tensor, *, model: Any = None, generator: Any = None, **under: Any
    ) -> Any:
        SEEN.update(under, embed=self.embed)
        return x.repeat(2, 1), labels.soft(y, self.num_classes).repeat(2, 1)


@dataclass(frozen=True)
class Copies:
    """A stored set of plain copies."""

    x: Tensor
    y: Tensor
    num_classes: int

    def __len__(self) -> int:
        return len(self.x)

    def get(self, indices: Tensor, /) -> Tensor:
        return self.x[indices]

    def labels(self, indices: Tensor, /) -> Tensor:
        return labels.soft(self.y[indices], self.num_classes)

    def save(self, path: Path, /) -> None:
        torch.save((self.x, self.y), path)


@dataclass(frozen=True, kw_only=True)
class CopySet:
    """An augmenter that keeps a set, renewed every second epoch."""

    num_classes: int
    ratio: float = 0.5
    refresh: int = 2
    adds = True
    stored = True
    passes = 0.0

    def __call__(self, x: Tensor, y: Tensor, **_: object) -> tuple[Tensor, Tensor]:
        raise AssertionError("a stored set is not made for each batch")

    def make_set(self, source: LabelledSamples, *, model: Any, generator: Any) -> Copies:
        SEEN["sets"] = SEEN.get("sets", 0) + 1
        rows = torch.arange(round(self.ratio * len(source)))
        return Copies(source.get(rows), source.y[rows], self.num_classes)

    def load_set(self, path: Path, /) -> Copies:
        return Copies(*torch.load(path), self.num_classes)


@dataclass(frozen=True)
class Inside:
    """An augmenter that mixes in a hidden layer; here it only swaps the labels."""

    epochs: list[int] = field(default_factory=list)

    @contextmanager
    def on(self, model: nn.Module, x: Tensor, y: Tensor, *, generator: Any = None) -> Iterator[Tensor]:
        yield 1 - y

    def begin_epoch(self) -> None:
        self.epochs.append(1)


class Still:
    """A regulariser that costs three passes a batch."""

    wants_embedding = True

    def batch_passes(self, size: int, /) -> float:
        return 3.0

    def loss(self, model: Classifier, x: Tensor, y: Tensor, **given: object) -> Tensor:
        SEEN["regulariser"] = set(given)
        return model(x).square().mean() * 0


def config(**more: Any) -> Any:
    base = {
        "data": {"name": "gaussians", "dim": 3, "train_size": 40, "test_size": 10},
        "model": {"name": "mlp", "hidden": []}, "method": {"name": "gaussian"},
        "epochs": 1, "batch_size": 20,
    }  # fmt: skip
    return build_config({**base, **more})


def test_an_own_augmenter_gets_embedding_noise_and_the_own_methods_attack(tmp_path: Path) -> None:
    resolved = config(method=f"{ME}:Shift", augment=f"{ME}:Double")
    assert resolved.embed["name"] == "pca"  # because the class wants one
    state = train(resolved, tmp_path / "run")
    assert SEEN["sigma"] == 0.25
    assert SEEN["embed"] is not None
    x = torch.zeros(2, 3)
    assert torch.equal(SEEN["attack"](nn.Identity(), x, torch.zeros(2)), x + 0.5)
    search = 0.5 * (1 + 3 * 3)  # each forward of the search may follow an attack of passes - 1
    assert state.passes == pytest.approx(40 * (4 * (1 + 2) + 2 * search))


def test_an_own_stored_set_stands_beside_the_data_and_is_renewed_when_it_says(tmp_path: Path) -> None:
    SEEN["sets"] = 0
    state = train(config(augment=f"{ME}:CopySet", epochs=3), tmp_path / "run")
    assert SEEN["sets"] == 2
    assert state.images == 3 * 60


def test_mixing_inside_and_forgetting_are_asked_of_an_own_augmenter() -> None:
    part = Inside()
    net = nn.Linear(2, 2)
    objective = Objective(net, Gaussian(sigma=0.0), num_classes=2, extras=Extras(Augmentation(part)))
    x, y = torch.rand(4, 2), torch.tensor([0, 1, 0, 1])
    objective.begin_epoch()
    assert part.epochs == [1]
    expected = labels.cross_entropy(net(x), 1 - y).mean()
    assert float(objective(Batch(x, y))["ce"].detach()) == pytest.approx(float(expected.detach()))


def test_an_own_regulariser_gets_everything_and_its_passes_are_counted(tmp_path: Path) -> None:
    resolved = config(regularizer=f"{ME}:Still", batch_size=10)
    assert resolved.embed["name"] == "pca"
    state = train(resolved, tmp_path / "run")
    assert SEEN["regulariser"] == {"embed", "generator", "sigma", "progress", "source"}
    assert state.passes == 40 + 4 * 3


def test_what_is_no_component_is_refused_with_what_it_lacks() -> None:
    assert "lacks batch_passes, loss" in str(compatible(Gaussian(), None, object()))
    assert "lacks loss, passes, sigma" in str(compatible(object()))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no augmenter"):
        Augmentation(3)


def test_a_method_without_an_attack_has_none() -> None:
    assert conditions_of(Gaussian(sigma=0.3), 0.5).attack is None


def test_a_regulariser_for_images_is_refused_on_vectors() -> None:
    class Picture(Still):
        needs_images = True

    assert "images" in str(compatible(Gaussian(), None, Picture(), shape=(4,)))
