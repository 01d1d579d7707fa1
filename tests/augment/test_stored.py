"""The stored set: labels, bytes, the disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.augment import AugmentedSet
from wassermix.augment.stored import SetWriter
from wassermix.core.errors import InputError
from wassermix.embed import Pixel
from wassermix.geodesic.path import Geodesic, Labels


def some_set(mode: Labels = "mix", image: bool = True) -> AugmentedSet:
    writer = SetWriter(10, (1, 4, 4) if image else (4,))
    for _ in range(2):
        x = torch.rand(7, 1, 4, 4) if image else torch.randn(7, 4) * 1e6
        kinds = torch.arange(7) % 3
        writer.write(x, torch.linspace(0, 1, 7), kinds, (kinds + 1) % 3)
    return writer.finish(3, mode)


@pytest.mark.parametrize("mode", ["mix", "side", "hard"])
def test_labels_follow_the_mode(mode: Labels) -> None:
    made = some_set(mode)
    y = made.labels(torch.arange(10))
    t = made.t
    share = {"mix": t, "side": (t >= 0.5).float(), "hard": torch.zeros(10)}[mode]
    assert torch.allclose(y.gather(1, made.class1.long()[:, None])[:, 0], share)
    assert torch.allclose(y.sum(dim=1), torch.ones(10))


@pytest.mark.parametrize("mode", ["mix", "side", "hard"])
def test_hard_labels_are_the_most_probable_class_and_those_of_the_geodesic(mode: Labels) -> None:
    made, rows = some_set(mode), torch.arange(10)
    assert 0.5 in made.t
    soft = made.labels(rows)
    assert torch.equal(soft.gather(1, made.y[:, None])[:, 0], soft.amax(dim=1))
    ends = [torch.nn.functional.one_hot(kinds.long(), 3).float() for kinds in (made.class0, made.class1)]
    z = torch.zeros(10, 1)
    path = Geodesic(z, z, *ends, weights=torch.full((10,), 0.1), embed=Pixel().fit(z), labels=mode)
    assert torch.equal(path.at(made.t).y, soft)


def test_only_what_is_wanted_is_kept() -> None:
    assert len(some_set()) == 10


@pytest.mark.parametrize("image", [True, False])
def test_the_set_comes_back_from_the_disk(image: bool, tmp_path: Path) -> None:
    made = some_set("side", image)
    made.save(tmp_path / "augmented.npz")
    back, rows = AugmentedSet.load(tmp_path / "augmented.npz"), torch.arange(10)
    assert torch.equal(back.get(rows), made.get(rows))
    assert torch.equal(back.labels(rows), made.labels(rows))
    assert torch.equal(back.y, made.y)
    with np.load(tmp_path / "augmented.npz") as file:
        assert file["y"].shape == (10, 3)


def test_images_are_rounded_to_bytes_and_vectors_are_kept() -> None:
    assert some_set().x.dtype == torch.uint8
    assert some_set(image=False).x.dtype == torch.float32


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"text"])
def test_a_broken_file_is_an_input_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "augmented.npz").write_bytes(content)
    with pytest.raises(InputError, match="augmented set"):
        AugmentedSet.load(tmp_path / "augmented.npz")
