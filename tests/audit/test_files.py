"""An audit on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from wassermix.audit import audit_to_files
from wassermix.core.errors import InputError
from wassermix.embed import PCA


class Split:
    """Held-out images of three classes."""

    y = torch.arange(60) % 3

    def __init__(self, shape: tuple[int, ...] = (1, 6, 6)) -> None:
        self.x = torch.rand(60, *shape, generator=torch.Generator().manual_seed(0))

    def get(self, indices: Tensor, /) -> Tensor:
        return self.x[indices]


def model(x: Tensor) -> Tensor:
    return x.reshape(len(x), -1)[:, :3]


def test_curves_and_frames_are_written_with_every_parameter(tmp_path: Path) -> None:
    audit_to_files(
        model, Split(), out=tmp_path / "audit", name="plain", points=5, frame_pairs=2, frame_times=4
    )
    stored = json.loads((tmp_path / "audit" / "plain.json").read_text())
    assert stored["parameters"]["points"] == 5
    keys = (
        "source target t loss kl accuracy as_source as_target as_other total_variation worst_t flip_t images"
    )
    assert set(keys.split()) <= set(stored["pairs"][0])
    with np.load(tmp_path / "audit" / "plain.npz") as file:
        assert file["frames"].shape == (2, 4, 4, 1, 6, 6)
        assert file["frames"].dtype == np.uint8
        assert file["pairs"].shape == (2, 2)
        assert file["t"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_the_first_and_last_frames_are_images_of_the_classes(tmp_path: Path) -> None:
    split = Split()
    audit_to_files(model, split, out=tmp_path, name="a", points=3)
    known = split.x.mul(255).round().to(torch.uint8).numpy()
    with np.load(tmp_path / "a.npz") as file:
        for frames, (source, target) in zip(file["frames"], file["pairs"]):
            for sample in frames:
                assert any((known[i] == sample[0]).all() for i in range(60) if split.y[i] == source)
                assert any((known[i] == sample[-1]).all() for i in range(60) if split.y[i] == target)


def test_what_exists_is_refused_kept_or_replaced(tmp_path: Path) -> None:
    first = audit_to_files(model, Split(), out=tmp_path, points=3)
    with pytest.raises(InputError, match="--resume"):
        audit_to_files(model, Split(), out=tmp_path, points=3)
    kept = audit_to_files(lambda x: -model(x), Split(), out=tmp_path, points=3, resume=True)
    assert kept.pairs == first.pairs
    new = audit_to_files(lambda x: -model(x), Split(), out=tmp_path, points=3, overwrite=True)
    assert new.pairs != first.pairs


def test_vectors_have_curves_but_no_frames(tmp_path: Path) -> None:
    audit_to_files(model, Split((9,)), out=tmp_path, name="v", points=3)
    assert (tmp_path / "v.json").exists()
    assert not (tmp_path / "v.npz").exists()


def net(seed: int) -> torch.nn.Module:
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 3, bias=False))
    with torch.no_grad():
        made[1].weight.copy_(torch.randn(3, 36, generator=torch.Generator().manual_seed(seed)))
    return made


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"model": 1}, "fingerprint"), ({"pairs": [(0, 2)]}, "pairs '0-1', now it is '0-2'"),
        ({"pairs": "all"}, "pairs '0-1', now it is '0-1,0-2,1-2'"), ({"points": 5}, "points 3, now it is 5"),
        ({"per_class": 9}, "per_class"), ({"seed": 1}, "seed"), ({"entropy": 0.1}, "entropy None"),
        ({"sigma": 0.1}, "sigma"), ({"embed": PCA(3).fit(Split().x)}, "embed 'pixel', now it is 'pca'"),
        ({"about": {"data": "cifar10", "split": "test"}}, "data 'mnist', now it is 'cifar10'"),
        ({"about": {"data": "mnist", "split": "holdout"}}, "split"), ({"class_names": "xyz"}, "class_names"),
    ],
    ids=str,
)  # fmt: skip
def test_only_the_same_audit_is_kept(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    asked: dict[str, Any] = {
        "pairs": [(0, 1)], "points": 3, "about": {"data": "mnist", "split": "test"}, "class_names": "abc",
    }  # fmt: skip
    first = audit_to_files(net(0), Split(), out=tmp_path, name="a", **asked)
    again = audit_to_files(net(0), Split(), out=tmp_path, name="a", resume=True, **asked)
    assert again.pairs == first.pairs
    assert again.parameters == first.parameters
    model = net(other.get("model", 0))
    changed = {**asked, **{key: value for key, value in other.items() if key != "model"}}
    with pytest.raises(InputError, match=f"a.json' was made with {words}.*overwrite it"):
        audit_to_files(model, Split(), out=tmp_path, name="a", resume=True, **changed)


def test_what_the_audit_is_about_stands_in_its_file_where_a_report_finds_it(tmp_path: Path) -> None:
    about = {"data": "mnist", "split": "test", "note": "images by their makers"}
    audit_to_files(
        net(0), Split(), out=tmp_path, name="a", points=3, about=about, class_names=("a", "b", "c")
    )
    stored = json.loads((tmp_path / "a.json").read_text())
    assert {key: stored[key] for key in about} == about
    assert stored["parameters"]["class_names"] == ["a", "b", "c"]
    assert len(stored["fingerprint"]) == 16


def test_frames_show_the_entropic_paths_that_were_audited(tmp_path: Path) -> None:
    """With much entropy every sample goes to the mean of the other class."""
    split = Split()
    audit_to_files(net(0), split, out=tmp_path, name="a", points=3, entropy=100.0)
    with np.load(tmp_path / "a.npz") as file:
        for frames, (_, target) in zip(file["frames"], file["pairs"]):
            mean = split.x[split.y == target].mean(dim=0).mul(255).numpy()
            assert np.abs(frames[:, -1] - mean).max() < 2
