"""Tiny-ImageNet's own layout in small, unpacked and as the archive."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from wassermix.core.errors import InputError
from wassermix.data import load_data

WNIDS = ["n02", "n01", "n03"]


@pytest.fixture
def folder(tmp_path):
    base = tmp_path / "tiny-imagenet-200"
    for value, wnid in enumerate(WNIDS):
        (base / "train" / wnid / "images").mkdir(parents=True)
        for number in range(3):
            pixels = np.full((64, 64, 3), 40 * value, np.uint8)
            Image.fromarray(pixels).save(base / "train" / wnid / "images" / f"{wnid}_{number}.JPEG")
    (base / "val" / "images").mkdir(parents=True)
    lines = []
    for number, wnid in enumerate(["n03", "n01"]):
        Image.fromarray(np.zeros((64, 64), np.uint8)).save(base / "val" / "images" / f"val_{number}.JPEG")
        lines.append(f"val_{number}.JPEG\t{wnid}\t0\t0\t62\t62")
    (base / "val" / "val_annotations.txt").write_text("\n".join(lines))
    (base / "wnids.txt").write_text("\n".join(WNIDS))
    (base / "words.txt").write_text("n01\tgoldfish, Carassius auratus\nn02\tbee\nn99\tother\n")
    return base


def check(data):
    assert (data.shape, data.num_classes, len(data.train), len(data.test)) == ((3, 64, 64), 3, 9, 2)
    assert data.train.y.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert data.test.y.tolist() == [2, 0]
    assert data.class_names == ("goldfish", "bee", "n03")
    means = data.train.get(torch.arange(9)).mean(dim=(1, 2, 3)) * 255
    assert torch.allclose(means, torch.tensor([40.0] * 3 + [0.0] * 3 + [80.0] * 3), atol=2)
    assert data.statistics() == ((0.5,) * 3, (0.5,) * 3)


def test_the_folder_is_read_as_it_comes(folder):
    check(load_data("tiny-imagenet", root=folder.parent))


def test_the_archive_is_unpacked_once(folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("packed")
    with zipfile.ZipFile(root / "tiny-imagenet-200.zip", "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder.parent))
    check(load_data("tiny-imagenet", root=root))
    (root / "tiny-imagenet-200.zip").unlink()
    check(load_data("tiny-imagenet", root=root))
    assert [path.name for path in root.iterdir()] == ["tiny-imagenet-200"]


def test_a_cut_off_archive_leaves_nothing_behind(tmp_path):
    (tmp_path / "tiny-imagenet-200.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match="damaged or cut off"):
        load_data("tiny-imagenet", root=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny-imagenet-200.zip"]


def test_missing_parts_are_named(folder):
    (folder / "val" / "val_annotations.txt").write_text("val_0.JPEG\tn77\t0\t0\t1\t1")
    with pytest.raises(InputError, match="'n77'"):
        load_data("tiny-imagenet", root=folder.parent)
    (folder / "val" / "val_annotations.txt").unlink()
    with pytest.raises(InputError, match=r"val_annotations.txt' cannot be read"):
        load_data("tiny-imagenet", root=folder.parent)
