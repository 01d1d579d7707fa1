"""IDX files: plain and gzipped, in each folder they may lie in, and damaged in each way."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import load_data
from wassermix.data.idx import PARTS, read_idx


def idx(array: np.ndarray, code: int = 0x08) -> bytes:
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_set(folder: Path, *, packed: bool, n: int = 30, rows: int = 28) -> np.ndarray:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (n, rows, rows), dtype=np.uint8)
    y = (np.arange(n) % 10).astype(np.uint8)
    for part, array in zip(PARTS, (x, y, x[:10], y[:10])):
        content = idx(array)
        (folder / (part + ".gz" if packed else part)).write_bytes(
            gzip.compress(content) if packed else content
        )
    return x


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("mnist", "mnist"),
        ("mnist", "MNIST/raw"),
        ("fashion-mnist", "fashion-mnist"),
        ("fashion-mnist", "FashionMNIST/raw"),
    ],
)
def test_digits_are_read_from_each_place_plain_or_packed(tmp_path, name, folder, packed):
    x = write_set(tmp_path / folder, packed=packed)
    data = load_data(name, root=tmp_path)
    assert (data.shape, data.num_classes, len(data.test)) == ((1, 28, 28), 10, 10)
    np.testing.assert_array_equal((data.train.get(torch.arange(30)) * 255).round().numpy()[:, 0], x)


def test_the_shared_folder_is_searched_before_the_cache(tmp_path, monkeypatch):
    write_set(tmp_path / "shared" / "mnist", packed=False, n=30)
    write_set(tmp_path / "cache" / "wassermix" / "mnist", packed=False, n=50)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WASSERMIX_DATA", str(tmp_path / "shared"))
    assert len(load_data("mnist").train) == 30
    monkeypatch.setenv("WASSERMIX_DATA", "")
    assert len(load_data("mnist").train) == 50


@pytest.mark.parametrize(
    ("code", "kind"), [(0x08, "u1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
)
def test_all_number_types_are_read(tmp_path, code, kind):
    array = np.arange(24).reshape(2, 3, 4).astype(kind)
    (tmp_path / "a").write_bytes(idx(array, code))
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), array)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    content = idx(np.arange(60, dtype=np.uint8).reshape(3, 4, 5))
    packed = gzip.compress(content)
    for whole in (content, packed):
        for length in range(len(whole)):
            (tmp_path / "a").write_bytes(whole[:length])
            with pytest.raises(InputError, match=r"'.*a'"):
                read_idx(tmp_path / "a")


def test_a_gz_file_with_a_flipped_bit_is_refused(tmp_path):
    packed = bytearray(gzip.compress(idx(np.zeros((3, 4), dtype=np.uint8))))
    packed[-6] ^= 1
    (tmp_path / "a").write_bytes(packed)
    with pytest.raises(InputError, match="damaged"):
        read_idx(tmp_path / "a")


def test_images_and_labels_of_different_number_are_refused(tmp_path):
    write_set(tmp_path / "mnist", packed=False)
    (tmp_path / "mnist" / PARTS[1]).write_bytes(idx(np.zeros(7, dtype=np.uint8)))
    with pytest.raises(InputError, match="as many labels"):
        load_data("mnist", root=tmp_path)


def test_what_is_missing_is_told_with_its_place_and_source(tmp_path):
    with pytest.raises(InputError) as caught:
        load_data("mnist", root=tmp_path, download=False)
    message = str(caught.value)
    assert all(part + ".gz" in message for part in PARTS)
    assert str(tmp_path / "mnist") in message


@pytest.mark.realdata
@pytest.mark.skipif(not os.environ.get("WASSERMIX_DATA"), reason="$WASSERMIX_DATA is not set")
def test_the_real_mnist_has_its_known_counts_and_mean():
    if not (Path(os.environ["WASSERMIX_DATA"]) / "mnist").is_dir():
        pytest.skip("no mnist folder in $WASSERMIX_DATA")
    data = load_data("mnist")
    assert torch.bincount(data.train.y).tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    assert len(data.test) == 10_000
    x = data.train.get(torch.arange(60_000))
    assert x.mean().item() == pytest.approx(0.1307, abs=1e-4)
    assert x.std().item() == pytest.approx(0.3081, abs=1e-4)
