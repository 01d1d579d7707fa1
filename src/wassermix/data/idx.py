"""MNIST and Fashion-MNIST: images and labels in IDX files, plain or gzipped."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError
from wassermix.data.checks import count_classes, image_tensor, label_tensor
from wassermix.data.dataset import Dataset
from wassermix.data.download import Algorithm, Progress, Remote, Search
from wassermix.data.splits import TensorSplit

__all__ = ["load_fashion_mnist", "load_mnist", "read_idx"]

PARTS = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

MNIST_MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/",)
MNIST_SHA256 = (
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
)
# Zalando publishes md5 sums only: they show damage; against forgery the address is https.
FASHION_MIRRORS = ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",)
FASHION_MD5 = (
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
FASHION_CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


def load_mnist(
    *, root: Path | None = None, download: bool = True, progress: Progress | None = None
) -> Dataset:
    """MNIST: 60,000 training and 10,000 test digits of 28x28 grey pixels."""
    names = tuple(str(digit) for digit in range(10))
    folders = ("mnist", "MNIST", "MNIST/raw", "mnist/raw")
    remotes = _remotes(MNIST_MIRRORS, "sha256", MNIST_SHA256)
    return _load(folders, remotes, Search(root, download, progress), class_names=names)


def load_fashion_mnist(
    *, root: Path | None = None, download: bool = True, progress: Progress | None = None
) -> Dataset:
    """Fashion-MNIST: 60,000 training and 10,000 test pictures of clothes, 28x28 grey pixels."""
    folders = ("fashion-mnist", "fashion_mnist", "FashionMNIST", "FashionMNIST/raw")
    remotes = _remotes(FASHION_MIRRORS, "md5", FASHION_MD5)
    return _load(folders, remotes, Search(root, download, progress), class_names=FASHION_CLASSES)


def _remotes(mirrors: tuple[str, ...], algorithm: Algorithm, digests: tuple[str, ...]) -> list[Remote]:
    names = [part + ".gz" for part in PARTS]
    return [
        Remote(name, tuple(mirror + name for mirror in mirrors), algorithm, digest)
        for name, digest in zip(names, digests)
    ]


def _load(
    folders: tuple[str, ...], remotes: list[Remote], search: Search, *, class_names: tuple[str, ...]
) -> Dataset:
    """The set from the first place that holds all its files; ``folders[0]`` is its name."""
    name = folders[0]
    places = [base / folder for base in search.folders for folder in folders]
    found = next((parts for place in places if (parts := _parts(place))), None)
    found = found or _parts(search.fetch(name, remotes, below=name))
    assert found is not None
    train, test = _split(found[0], found[1]), _split(found[2], found[3])
    k = count_classes(train, test, f"data '{name}' in '{found[0].parent}'")
    return Dataset(name, train, test, k, "image", class_names=class_names[:k])


def _parts(folder: Path) -> tuple[Path, Path, Path, Path] | None:
    """The four files in ``folder``, plain or ``.gz``; None unless all are there."""
    found = []
    for part in PARTS:
        names = (part, part + ".gz", part.replace("-idx", ".idx"), part.replace("-idx", ".idx") + ".gz")
        found += [path for name in names if (path := folder / name).is_file()][:1]
    return (found[0], found[1], found[2], found[3]) if len(found) == len(PARTS) else None


def _split(images: Path, labels: Path) -> TensorSplit:
    x, y = read_idx(images), read_idx(labels)
    if x.ndim != 3 or y.ndim != 1 or len(x) != len(y):
        raise InputError(
            f"'{images}' holds an array {x.shape} and '{labels.name}' {y.shape}; "
            "expected images (n, rows, columns) and as many labels (n,)"
        )
    return TensorSplit(image_tensor(x[:, None], str(images)), label_tensor(y, str(labels)))


def read_idx(path: Path) -> NDArray[Any]:
    """The array in an IDX file, gzipped or not; a damaged or cut-off file is an :class:`InputError`."""
    content = _content(path)
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        raise InputError(f"'{path}' is not an IDX file (it starts with {content[:4].hex() or 'nothing'})")
    kind, dimensions = np.dtype(TYPES[content[2]]), content[3]
    start = 4 + 4 * dimensions
    shape = struct.unpack_from(f">{dimensions}I", content, 4) if len(content) >= start else ()
    expected = start + math.prod(shape) * kind.itemsize
    if len(content) != expected:
        raise InputError(
            f"'{path}' holds {len(content)} bytes; its header announces {expected}; fetch it again"
        )
    array = np.frombuffer(content, dtype=kind, offset=start).reshape(shape)
    return array.astype(kind.newbyteorder("="))  # a copy: torch wants writable memory


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"'{path}' is damaged or cut off ({error}); delete it and fetch it again") from error
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from error
