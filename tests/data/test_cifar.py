"""CIFAR: every packing of the same pictures gives the same data."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from wassermix.core.errors import InputError
from wassermix.data import load_data

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (60, 3, 32, 32), dtype=np.uint8)  # 5 files of 10 to train on, 10 to test
TEN = np.arange(60) % 10
NAMES = [f"name{number}" for number in range(10)]


def python_files() -> dict[str, bytes]:
    files = {"batches.meta": pickle.dumps({b"label_names": [name.encode() for name in NAMES]}, 2)}
    for number, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        part = slice(10 * number, 10 * number + 10)
        table = {b"data": IMAGES[part].reshape(10, -1), b"labels": TEN[part].tolist()}
        files[name] = pickle.dumps(table, 2)
    return files


def binary_files() -> dict[str, bytes]:
    files = {"batches.meta.txt": "\n".join([*NAMES, "", ""]).encode()}
    for number, name in enumerate([*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]):
        part = slice(10 * number, 10 * number + 10)
        rows = np.concatenate([TEN[part, None].astype(np.uint8), IMAGES[part].reshape(10, -1)], axis=1)
        files[name] = rows.tobytes()
    return files


def write(place: Path, folder: str, files: dict[str, bytes], archive: str | None) -> None:
    place.mkdir(parents=True, exist_ok=True)
    if archive is None:
        (place / folder).mkdir()
        for name, content in files.items():
            (place / folder / name).write_bytes(content)
        return
    with tarfile.open(place / archive, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("below", ["", "cifar10", "cifar-10"])
@pytest.mark.parametrize(
    ("folder", "files", "archive"),
    [
        ("cifar-10-batches-py", python_files, None),
        ("cifar-10-batches-py", python_files, "cifar-10-python.tar.gz"),
        ("cifar-10-batches-bin", binary_files, None),
        ("cifar-10-batches-bin", binary_files, "cifar-10-binary.tar.gz"),
    ],
)
def test_every_packing_gives_the_same_pictures(tmp_path, below, folder, files, archive):
    write(tmp_path / below, folder, files(), archive)
    data = load_data("cifar10", root=tmp_path)
    assert data.train.x.dtype == torch.uint8
    np.testing.assert_array_equal(data.train.x.numpy(), IMAGES[:50])
    np.testing.assert_array_equal(data.test.x.numpy(), IMAGES[50:])
    assert data.train.y.tolist() == TEN[:50].tolist()
    assert data.class_names == tuple(NAMES)
    assert data.statistics()[0] == (0.4914, 0.4822, 0.4465)


@pytest.mark.parametrize("packed", [True, False])
def test_the_fine_labels_of_cifar100_are_taken(tmp_path, packed):
    x = RNG.integers(0, 256, (200, 3, 32, 32), dtype=np.uint8)
    fine, coarse = np.arange(200) % 100, np.arange(200) % 20
    if packed:
        table = {
            b"data": x.reshape(200, -1),
            b"fine_labels": fine.tolist(),
            b"coarse_labels": coarse.tolist(),
        }
        meta = {b"fine_label_names": [b"n%d" % number for number in range(100)]}
        files = {
            "train": pickle.dumps(table, 2),
            "test": pickle.dumps(table, 2),
            "meta": pickle.dumps(meta, 2),
        }
        write(tmp_path, "cifar-100-python", files, "cifar-100-python.tar.gz")
    else:
        rows = np.concatenate([coarse[:, None], fine[:, None], x.reshape(200, -1)], axis=1).astype(np.uint8)
        names = "\n".join(f"n{number}" for number in range(100)).encode()
        files = {"train.bin": rows.tobytes(), "test.bin": rows.tobytes(), "fine_label_names.txt": names}
        write(tmp_path, "cifar-100-binary", files, None)
    data = load_data("cifar100", root=tmp_path)
    assert data.num_classes == 100
    assert data.train.y.tolist() == fine.tolist()
    assert data.class_names[7] == "n7"
    np.testing.assert_array_equal(data.test.x.numpy(), x)


class Evil:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_a_batch_that_would_run_code_is_refused(tmp_path):
    marker = tmp_path / "ran"
    files = python_files() | {"data_batch_3": pickle.dumps({b"data": Evil(f"touch {marker}")}, 2)}
    write(tmp_path, "cifar-10-batches-py", files, None)
    with pytest.raises(InputError, match="'data_batch_3' is refused"):
        load_data("cifar10", root=tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data_batch_2": b""}, "'data_batch_2' is damaged"),
        ({"data_batch_2": pickle.dumps([1])}, "holds a list"),
        ({"data_batch_2": pickle.dumps({"labels": [1]})}, "expected data and labels"),
        (
            {"data_batch_2": pickle.dumps({"data": np.zeros((2, 5), np.uint8), "labels": [0, 1]})},
            r"uint8 \(n, 3072\)",
        ),
    ],
)
def test_damaged_batches_are_named(tmp_path, change, message):
    write(tmp_path, "cifar-10-batches-py", python_files() | change, None)
    with pytest.raises(InputError, match=message):
        load_data("cifar10", root=tmp_path)


def test_a_missing_batch_is_named(tmp_path):
    files = python_files()
    del files["data_batch_4"]
    write(tmp_path, "cifar-10-batches-py", files, "cifar-10-python.tar.gz")
    with pytest.raises(InputError, match="lacks data_batch_4"):
        load_data("cifar10", root=tmp_path)


def test_a_cut_off_archive_or_binary_file_is_refused(tmp_path):
    write(tmp_path / "a", "cifar-10-batches-py", python_files(), "cifar-10-python.tar.gz")
    archive = tmp_path / "a" / "cifar-10-python.tar.gz"
    content = archive.read_bytes()
    for length in (0, 10, len(content) // 2, len(content) * 9 // 10):
        archive.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"damaged or cut off|lacks"):
            load_data("cifar10", root=tmp_path / "a")
    write(tmp_path / "b", "cifar-10-batches-bin", binary_files() | {"data_batch_1.bin": b"12345"}, None)
    with pytest.raises(InputError, match="no multiple of 3073"):
        load_data("cifar10", root=tmp_path / "b")


def test_links_in_an_archive_are_not_followed(tmp_path):
    files = python_files()
    with tarfile.open(tmp_path / "cifar-10-python.tar.gz", "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            if name == "test_batch":
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(member, io.BytesIO(content) if member.size else None)
    with pytest.raises(InputError, match="lacks test_batch"):
        load_data("cifar10", root=tmp_path, download=False)
