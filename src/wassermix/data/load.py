"""One function from a name or a path to a data set."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.data.cifar import load_cifar10, load_cifar100
from wassermix.data.dataset import Dataset, hold_out, shrink
from wassermix.data.download import Progress
from wassermix.data.folder import load_folder
from wassermix.data.gaussians import load_gaussians
from wassermix.data.idx import load_fashion_mnist, load_mnist
from wassermix.data.locate import data_folders, first_existing
from wassermix.data.mnist5k import load_mnist5k
from wassermix.data.npz import Layout, load_npz
from wassermix.data.table import load_table
from wassermix.data.tiny_imagenet import load_tiny_imagenet

__all__ = ["DATA", "load_data", "own_units"]

Loader = Callable[..., Dataset]

DATA: dict[str, Loader] = {
    "mnist5k": load_mnist5k,
    "mnist": load_mnist,
    "fashion-mnist": load_fashion_mnist,
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "tiny-imagenet": load_tiny_imagenet,
    "gaussians": load_gaussians,
}
"""The data sets known by name."""

CONTEXT = ("path", "root", "seed", "download", "progress", "train_size")
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def load_data(
    name: str | Path = "mnist5k",
    *,
    holdout: float = 0.0,
    train_size: int | None = None,
    seed: int = 0,
    root: Path | None = None,
    download: bool = True,
    progress: Progress | None = None,
    layout: Layout | None = None,
    label: str | None = None,
    test: str | None = None,
    test_share: float | None = None,
    standardize: bool | None = None,
    size: int | None = None,
    channels: int | None = None,
    test_size: int | None = None,
    classes: int | None = None,
    dim: int | None = None,
    separation: float | None = None,
    sd: float | None = None,
) -> Dataset:
    """Load a data set by name, or from the path of an npz file, a CSV table or a folder of images.

    ``holdout`` is the stratified share of the training set to keep apart for choosing settings,
    ``train_size`` how many training samples to use of the rest (stratified too). ``root`` is searched
    instead of ``$WASSERMIX_DATA`` and the cache. ``seed`` fixes every random choice made here (those two,
    a test share, synthetic samples); leave it alone when a training's seed changes, so that runs stay
    comparable. ``progress(done, total)`` follows a download in bytes. Each other option belongs to one
    kind of data, and the others refuse it.
    """
    loader, where = _find(str(name), root)
    given = {"layout": layout, "label": label, "test": test, "test_share": test_share, "size": size,
             "channels": channels, "test_size": test_size, "classes": classes, "dim": dim,
             "separation": separation, "sd": sd, "standardize": standardize}  # fmt: skip
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    context: dict[str, Any] = {"root": root, "download": download, "seed": seed, "progress": progress}
    known = inspect.signature(loader).parameters
    _refuse_unknown(str(name), options, known=list(known))
    options |= {key: value for key, value in context.items() if key in known}
    if "train_size" in known and train_size is not None and 0 <= holdout < 1:
        options["train_size"] = math.ceil(train_size / (1 - holdout))  # made to measure; shrink trims it
    data = loader(*where, **options)
    return shrink(hold_out(data, holdout, seed), train_size, seed)


def own_units(name: str | Path) -> dict[str, Any]:
    """The options under which data come as they are stored: what models expect that were not trained here."""
    return {"standardize": False} if str(name).endswith(TABLES) else {}


def _find(name: str, root: Path | None) -> tuple[Loader, tuple[Path, ...]]:
    """The loader for ``name``, and the path for it where ``name`` is one."""
    if name in DATA:
        return DATA[name], ()
    path = first_existing([Path(), *data_folders(root)], [str(Path(name).expanduser())])
    if path is None or not name.strip():
        raise InputError(_unknown(name, root))
    if path.is_dir():
        return load_folder, (path,)
    if path.suffix == ".npz":
        return load_npz, (path,)
    if path.name.endswith(TABLES):
        return load_table, (path,)
    raise InputError(
        f"data '{name}' is a file of no known type; expected .npz, {', '.join(TABLES)} or a folder of images"
    )


def _unknown(name: str, root: Path | None) -> str:
    if "/" in name or Path(name).suffix:
        places = ", ".join(f"'{place}'" for place in data_folders(root))
        return f"data '{name}' does not exist, neither in the current folder nor in {places}"
    close = difflib.get_close_matches(name.lower(), DATA, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return (
        f"data '{name}' is unknown; {hint}known are {', '.join(DATA)}, "
        "or give the path of an npz file, a CSV table or a folder of images"
    )


def _refuse_unknown(name: str, options: dict[str, Any], *, known: list[str]) -> None:
    for key in options:
        if key not in known:
            takes = [option for option in known if option not in CONTEXT]
            raise InputError(f"data '{name}' takes no option '{key}'; it takes {', '.join(takes) or 'none'}")
