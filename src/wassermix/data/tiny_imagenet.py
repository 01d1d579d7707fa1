"""Tiny-ImageNet-200 in its own folder layout, labels of the validation images from their annotations."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path

import torch

from wassermix.core.errors import InputError
from wassermix.data.checks import count_classes
from wassermix.data.dataset import Dataset
from wassermix.data.download import Progress, Remote, Search
from wassermix.data.folder import FolderSplit, images_in
from wassermix.data.locate import first_existing

__all__ = ["load_tiny_imagenet"]

FOLDER = "tiny-imagenet-200"
ARCHIVE = Remote(
    "tiny-imagenet-200.zip",
    ("https://cs231n.stanford.edu/tiny-imagenet-200.zip",),
    "md5",  # the sum that the field's loaders carry; no sha256 is published
    "90528d7ca1a48142e341f4ef8d21d0de",
)


def load_tiny_imagenet(
    *, root: Path | None = None, download: bool = True, progress: Progress | None = None
) -> Dataset:
    """Tiny-ImageNet-200: 100,000 training and 10,000 validation images (to test on), 64x64 in colour."""
    folder = _locate(Search(root, download, progress))
    where = f"data 'tiny-imagenet' in '{folder}'"
    wnids = sorted(_lines(folder / "wnids.txt"))
    number = {wnid: index for index, wnid in enumerate(wnids)}
    train = [(path, number[wnid]) for wnid in wnids for path in images_in(folder / "train" / wnid)]
    test = [(folder / "val" / "images" / name, number[wnid]) for name, wnid in _annotations(folder, number)]
    splits = [_split(pairs, where) for pairs in (train, test)]
    k = count_classes(splits[0], splits[1], where)
    names = tuple(_words(folder).get(wnid, wnid) for wnid in wnids)
    note = "tested on the validation images, whose labels are public"
    half = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    return Dataset(
        "tiny-imagenet", splits[0], splits[1], k, "image", note=note, class_names=names, known_statistics=half
    )


def _split(pairs: list[tuple[Path, int]], where: str) -> FolderSplit:
    if not pairs:
        raise InputError(f"{where} lacks images in train/WNID/images or names in val/val_annotations.txt")
    return FolderSplit([path for path, _ in pairs], torch.tensor([label for _, label in pairs]), 64, 3)


def _annotations(folder: Path, known: Collection[str]) -> list[tuple[str, str]]:
    """``(file name, wnid)`` of each validation image."""
    path = folder / "val" / "val_annotations.txt"
    rows = [line.split("\t") for line in _lines(path)]
    wrong = next((row for row in rows if len(row) < 2 or row[1] not in known), None)
    if wrong is not None:
        raise InputError(f"'{path}' has the line {wrong}; expected file, class (one of wnids.txt), box")
    return [(row[0], row[1]) for row in rows]


def _words(folder: Path) -> dict[str, str]:
    path = folder / "words.txt"
    rows = [line.split("\t", 1) for line in _lines(path)] if path.is_file() else []
    return {row[0]: row[1].split(",")[0] for row in rows if len(row) == 2}


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise InputError(
            f"'{path}' cannot be read ({error.strerror}); unpack {ARCHIVE.name} again, as it came"
        ) from error


def _locate(search: Search) -> Path:
    places = [base / sub for base in search.folders for sub in ("", "tiny-imagenet")]
    folder = first_existing(places, [FOLDER])
    if folder is not None:
        return folder
    archive = first_existing(places, [ARCHIVE.name])
    target = search.folders[-1]
    if archive is None:
        archive = search.fetch("tiny-imagenet", [ARCHIVE]) / ARCHIVE.name
    _unpack(archive, target)
    return target / FOLDER


def _unpack(archive: Path, target: Path) -> None:
    """Unpack beside and rename: a killed attempt leaves no half folder behind under the final name."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".unpacking-") as beside:
            with zipfile.ZipFile(archive) as content:
                content.extractall(beside)
            (Path(beside) / FOLDER).rename(target / FOLDER)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"'{archive}' is damaged or cut off ({error}); delete it and fetch it again"
        ) from error
    except OSError as error:
        if not (target / FOLDER).is_dir():  # else another process was faster
            raise InputError(
                f"cannot unpack '{archive}' into '{target}': {error.strerror or error}"
            ) from error
