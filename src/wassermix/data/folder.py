"""Folders of images: one folder per class, decoded on demand, in worker processes if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.data.checks import count_classes
from wassermix.data.dataset import Dataset
from wassermix.data.protocol import Split
from wassermix.data.share import refuse_share, set_apart

__all__ = ["FolderSplit", "load_folder"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".pgm", ".ppm", ".pnm", ".tif", ".tiff", ".webp")
DEEP = ("I", "I;16", "I;16B", "I;16L", "F")
GREY = ("1", "L", "LA", *DEEP)


class FolderSplit:
    """A split of image files, opened when asked for.

    ``size`` scales each image to ``size x size`` pixels; without it all must have the size of the first.
    ``channels`` is 1 (grey) or 3 (colour); without it the first image decides.
    """

    streamed = True

    def __init__(
        self, paths: Sequence[Path], y: Tensor, size: int | None = None, channels: int | None = None
    ) -> None:
        assert len(paths) == len(y) > 0
        if channels not in (None, 1, 3) or (size is not None and size < 1):
            raise InputError(f"got size={size}, channels={channels}; expected size >= 1 and channels 1 or 3")
        self.paths = [str(path) for path in paths]
        self.y = y
        self.size = size
        mode, (width, height) = _look(self.paths[0])
        self.asked, self.channels = channels, channels or (1 if mode in GREY else 3)
        self.shape: tuple[int, ...] = (self.channels, size or height, size or width)

    def __len__(self) -> int:
        return len(self.paths)

    def get(self, indices: Tensor, /) -> Tensor:
        """The images at ``indices`` as float32 in [0,1]."""
        if len(indices) == 0:
            return torch.empty(0, *self.shape)
        stacked = np.stack([self._pixels(self.paths[index]) for index in indices.tolist()])
        return torch.from_numpy(stacked).permute(0, 3, 1, 2).float().div_(255)

    def _pixels(self, path: str) -> np.ndarray:
        """One image as uint8 ``(H, W, C)``."""
        from PIL import Image

        try:
            with Image.open(path) as image:
                deep, coloured = image.mode in DEEP, image.mode not in (*GREY, *DEEP)
                pixels = image.convert("L" if self.channels == 1 else "RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # Pillow's words
            raise InputError(f"image '{path}' cannot be read ({error}); replace or remove it") from error
        if deep:  # Pillow would cut such values off at 255
            raise InputError(f"image '{path}' has more than 8 bits per pixel; convert it to 8 bits first")
        if coloured and self.channels == 1 and self.asked is None:
            raise InputError(f"image '{path}' has colours, the first one none; set data.channels to 1 or 3")
        if self.size is not None and pixels.size != (self.size, self.size):
            pixels = pixels.resize((self.size, self.size), Image.Resampling.BILINEAR)
        if (pixels.height, pixels.width) != self.shape[1:]:
            raise InputError(
                f"image '{path}' has {pixels.width}x{pixels.height} pixels, the first one "
                f"{self.shape[2]}x{self.shape[1]}; set data.size to scale all of them alike"
            )
        return np.asarray(pixels, dtype=np.uint8).reshape(pixels.height, pixels.width, self.channels)


def _look(path: str) -> tuple[str, tuple[int, int]]:
    """Mode and size of an image, from its header."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.mode, image.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"image '{path}' cannot be read ({error}); replace or remove it") from error


TRAIN, TEST = ("train", "training"), ("test", "testing", "val", "valid", "validation", "dev")
"""What the folders of the two splits may be called; of several the first counts."""


def _first_of(path: Path, names: Sequence[str]) -> Path | None:
    return next((path / name for name in names if (path / name).is_dir()), None)


def load_folder(
    path: Path,
    *,
    test_share: float | None = None,
    seed: int = 0,
    size: int | None = None,
    channels: int | None = None,
) -> Dataset:
    """Images in ``train/CLASS/`` and ``test/CLASS/`` (or ``val/``), or ``CLASS/`` with a share to test on.

    The first image decides between grey and colour unless ``channels`` does; colours among grey ones are
    refused then.
    """
    where = f"data '{path}'"
    train_folder, test_folder = _first_of(path, TRAIN) or path / "train", _first_of(path, TEST)
    if train_folder.is_dir() and test_folder is not None:
        refuse_share(test_share, f"'{test_folder}'")
        names = _class_folders(train_folder, where)
        _refuse_empty(train_folder, names)
        train: Split = _labelled(train_folder, names, size, channels=channels)
        test: Split = _labelled(test_folder, names, train.shape[1] if size else None, channels=channels)
        if test.shape[0] != train.shape[0]:
            raise InputError(f"{where}: only one of train and test has colours; set data.channels to 1 or 3")
        _refuse_strangers(test_folder, names)
        note = ""
    else:
        base = train_folder if train_folder.is_dir() else path
        names = _class_folders(base, where)
        if {name.lower() for name in names} <= {*TRAIN, *TEST}:
            raise InputError(
                f"{where}: the folders {', '.join(names)} look like splits, not classes; call them train and "
                "test, with a folder for each class inside"
            )
        _refuse_empty(base, names)
        whole = _labelled(base, names, size, channels=channels)
        train, test, note = set_apart(whole, test_share, seed)
    k = count_classes(train, test, where)
    return Dataset(path.resolve().name, train, test, k, "image", note=note, class_names=tuple(names))


def _class_folders(folder: Path, where: str) -> list[str]:
    names = sorted(
        entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")
    )
    if not names:
        raise InputError(f"{where}: '{folder}' has no folders; expected one for each class, with its images")
    return names


def _refuse_empty(folder: Path, names: list[str]) -> None:
    """Refuse a class without training images, which would shift or outnumber the names of the others."""
    empty = [name for name in names if not images_in(folder / name)]
    if empty and len(empty) < len(names):
        raise InputError(f"'{folder / empty[0]}' holds no images; add some, or remove the folder")


def _refuse_strangers(folder: Path, names: list[str]) -> None:
    strangers = sorted(set(_class_folders(folder, f"data '{folder}'")) - set(names))
    if strangers:
        raise InputError(f"'{folder}' has the class '{strangers[0]}', which the training images do not have")


def _labelled(folder: Path, names: list[str], size: int | None, *, channels: int | None) -> FolderSplit:
    found = [(path, number) for number, name in enumerate(names) for path in images_in(folder / name)]
    if not found:
        raise InputError(
            f"'{folder}' holds no images; expected files such as CLASS/name.png ({', '.join(SUFFIXES)})"
        )
    return FolderSplit(
        [path for path, _ in found], torch.tensor([label for _, label in found]), size, channels
    )


def images_in(folder: Path) -> list[Path]:
    """The image files below ``folder``, sorted."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
