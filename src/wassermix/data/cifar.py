"""CIFAR-10 and CIFAR-100: the python or the binary archive, packed or unpacked."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.data.checks import count_classes, image_tensor, label_tensor
from wassermix.data.dataset import Dataset, Statistics
from wassermix.data.download import Progress, Remote, Search
from wassermix.data.splits import TensorSplit
from wassermix.data.unpickle import read_pickle

__all__ = ["load_cifar10", "load_cifar100"]

PIXELS = 3 * 32 * 32
SITE = "https://www.cs.toronto.edu/~kriz/"


@dataclass(frozen=True)
class _Form:
    """One packing of one set: its archive, its folder, and the files for training, testing and names."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: str
    label: str  # python archives: the key of the labels; binary ones: "" and the label bytes below
    label_bytes: int = 1


@dataclass(frozen=True)
class _Set:
    name: str
    forms: tuple[_Form, ...]
    remote: Remote
    statistics: Statistics


_TEN = _Set(
    "cifar10",
    (
        _Form(
            "cifar-10-python.tar.gz",
            "cifar-10-batches-py",
            tuple(f"data_batch_{number}" for number in range(1, 6)),
            ("test_batch",),
            "batches.meta",
            "labels",
        ),
        _Form(
            "cifar-10-binary.tar.gz",
            "cifar-10-batches-bin",
            tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
            ("test_batch.bin",),
            "batches.meta.txt",
            "",
        ),
    ),
    Remote(
        "cifar-10-python.tar.gz",
        (SITE + "cifar-10-python.tar.gz",),
        "sha256",
        "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    ),
    ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
)
_HUNDRED = _Set(
    "cifar100",
    (
        _Form("cifar-100-python.tar.gz", "cifar-100-python", ("train",), ("test",), "meta", "fine_labels"),
        _Form(
            "cifar-100-binary.tar.gz",
            "cifar-100-binary",
            ("train.bin",),
            ("test.bin",),
            "fine_label_names.txt",
            "",
            label_bytes=2,
        ),
    ),
    Remote(
        "cifar-100-python.tar.gz",
        (SITE + "cifar-100-python.tar.gz",),
        "sha256",
        "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    ),
    ((129.3 / 255, 124.1 / 255, 112.4 / 255), (68.2 / 255, 65.4 / 255, 70.4 / 255)),
)


def load_cifar10(
    *, root: Path | None = None, download: bool = True, progress: Progress | None = None
) -> Dataset:
    """CIFAR-10: 50,000 training and 10,000 test pictures, 32x32 in colour, 10 classes."""
    return _load(_TEN, Search(root, download, progress))


def load_cifar100(
    *, root: Path | None = None, download: bool = True, progress: Progress | None = None
) -> Dataset:
    """CIFAR-100: 50,000 training and 10,000 test pictures, 32x32 in colour, 100 classes."""
    return _load(_HUNDRED, Search(root, download, progress))


def _load(which: _Set, search: Search) -> Dataset:
    found = _find(which, search.folders)
    if found is None:
        search.fetch(which.name, [which.remote], below=which.name)
        found = _find(which, search.folders)
        assert found is not None
    form, place = found
    files = _read(place, [*form.train, *form.test, form.names])
    where = f"data '{which.name}' in '{place}'"
    train, test = _split(form, form.train, files, where=where), _split(form, form.test, files, where=where)
    k = count_classes(train, test, where)
    names = _class_names(form, files, where)
    return Dataset(which.name, train, test, k, "image", class_names=names, known_statistics=which.statistics)


def _find(which: _Set, folders: list[Path]) -> tuple[_Form, Path] | None:
    """The unpacked folder or the archive, wherever one of them is."""
    bases = [
        base / sub for base in folders for sub in ("", which.name, which.name.replace("cifar", "cifar-"))
    ]
    for base in bases:
        for form in which.forms:
            if (base / form.folder / form.test[0]).is_file():
                return form, base / form.folder
            if (base / form.archive).is_file():
                return form, base / form.archive
    return None


def _read(place: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The wanted files of a folder or of an archive, which stays packed."""
    wanted = set(names)
    try:
        if place.is_dir():
            return {name: (place / name).read_bytes() for name in wanted if (place / name).is_file()}
        with tarfile.open(place, "r:*") as archive:
            return {
                Path(member.name).name: stream.read()
                for member in archive
                if member.isfile()  # links could lead out of the archive, or nowhere
                and Path(member.name).name in wanted
                and (stream := archive.extractfile(member)) is not None
            }
    except (tarfile.TarError, EOFError, zlib.error, OSError, KeyError) as error:
        raise InputError(
            f"'{place}' is damaged or cut off ({error}); delete it and fetch it again"
        ) from error


def _split(form: _Form, names: tuple[str, ...], files: Mapping[str, bytes], *, where: str) -> TensorSplit:
    read: Callable[[_Form, bytes, str], tuple[NDArray[Any], NDArray[Any]]] = (
        _python if form.label else _binary
    )
    missing = [name for name in names if name not in files]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}; unpack or fetch the archive again")
    parts = [read(form, files[name], f"{where}, file '{name}'") for name in names]
    x = np.concatenate([part[0] for part in parts]).reshape(-1, 3, 32, 32)
    y = np.concatenate([part[1] for part in parts])
    return TensorSplit(image_tensor(x, where), label_tensor(y, where))


def _python(form: _Form, content: bytes, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    table = _text_keys(read_pickle(content, where), where)
    if "data" not in table or form.label not in table:
        raise InputError(f"{where} holds {', '.join(table) or 'nothing'}; expected data and {form.label}")
    x, y = np.asarray(table["data"]), np.asarray(table[form.label])
    if x.dtype != np.uint8 or x.shape != (len(y), PIXELS):
        raise InputError(
            f"{where}: data is {x.dtype} {x.shape} with {len(y)} labels; "
            f"expected uint8 (n, {PIXELS}) and n labels"
        )
    return x, y


def _binary(form: _Form, content: bytes, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of label bytes (the fine label is the last) and pixels, red then green then blue."""
    size = form.label_bytes + PIXELS
    if len(content) % size:
        raise InputError(f"{where} holds {len(content)} bytes, no multiple of {size}; it is cut off")
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, size)
    return rows[:, form.label_bytes :], rows[:, form.label_bytes - 1]


def _class_names(form: _Form, files: Mapping[str, bytes], where: str) -> tuple[str, ...]:
    if form.names not in files:
        return ()
    if not form.label:
        return tuple(files[form.names].decode("utf-8", "replace").split())
    table = _text_keys(read_pickle(files[form.names], f"{where}, file '{form.names}'"), where)
    names = table.get(form.label.removesuffix("s") + "_names", ())
    return tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name) for name in names)


def _text_keys(table: object, where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise InputError(f"{where} holds a {type(table).__name__}; expected a table of named arrays")
    return {key.decode() if isinstance(key, bytes) else str(key): value for key, value in table.items()}
