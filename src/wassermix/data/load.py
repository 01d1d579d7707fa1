"""One function from a name or a path to a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.registry import keyword_options
from wassermix.core.settings import nearest
from wassermix.data.checks import count_classes
from wassermix.data.dataset import Dataset, hold_out, shrink
from wassermix.data.download import Progress
from wassermix.data.locate import data_folders, first_existing
from wassermix.data.protocol import Loader
from wassermix.data.registry import DATA

__all__ = ["data_options", "load_data", "located", "own_units"]

CONTEXT = frozenset({"root", "progress"})
"""What the caller supplies and no config says."""
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
    **options: Any,
) -> Dataset:
    """Load a data set by name, or from the path of an npz file, a CSV table or a folder of images.

    ``name`` may also be ``package.module:function``, a loader of the user's own that returns a
    :class:`Dataset`, or the name that an installed package gives to one. ``holdout`` is the stratified share
    of the training set to keep apart for choosing settings, ``train_size`` how many training samples to use
    of the rest (stratified too). ``root`` is searched instead of ``$WASSERMIX_DATA`` and the cache. ``seed``
    fixes every random choice made here (those two, a test share, synthetic samples); leave it alone when a
    training's seed changes, so that runs stay comparable. ``progress(done, total)`` follows a download in
    bytes. ``options`` are the loader's own keyword arguments (:func:`data_options`).
    """
    loader, where = _find(str(name), root)
    _refuse_unknown(str(name), options, loader)
    context = {"root": root, "download": download, "seed": seed, "progress": progress}
    known = keyword_options(loader)
    options |= {key: value for key, value in context.items() if key in known}
    if "train_size" in known and train_size is not None and 0 <= holdout < 1:
        options["train_size"] = math.ceil(train_size / (1 - holdout))  # made to measure; shrink trims it
    data = loader(*where, **options)
    if not isinstance(data, Dataset):
        raise InputError(f"data '{name}' gave a {type(data).__name__}; expected a wassermix.data.Dataset")
    if str(name) not in DATA.shipped and not where:  # someone else's loader
        _require_classes(data, f"data '{name}'")
    return shrink(hold_out(data, holdout, seed), train_size, seed)


def _require_classes(data: Dataset, where: str) -> None:
    """Refuse labels that are not 0 to k - 1, or more classes than the data set says."""
    found = count_classes(data.train, data.test, where)
    if found > data.num_classes:
        raise InputError(f"{where} says num_classes={data.num_classes}, but its labels have {found} classes")


def own_units(name: str | Path) -> dict[str, Any]:
    """The options under which data come as they are stored: what models expect that were not trained here."""
    return {"standardize": False} if str(name).endswith(TABLES) else {}


def data_options(name: str) -> dict[str, tuple[Any, Any]]:
    """``{option: (type, default)}`` of the data called ``name``: what all data take, and the loader's own."""
    return {**_own_options(_loader(name)), **keyword_options(load_data, context=CONTEXT)}


def located(section: Mapping[str, Any]) -> dict[str, Any]:
    """A data section whose files have absolute paths where they are found here: a run finds them anywhere."""
    return {key: _absolute(value) if key in ("name", "test") else value for key, value in section.items()}


def _absolute(name: str) -> str:
    path = Path(name).expanduser()
    return str(path.resolve()) if name.strip() and name not in DATA.names() and path.exists() else name


def _find(name: str, root: Path | None) -> tuple[Loader, tuple[Path, ...]]:
    """The loader for ``name``, and the path for it where ``name`` is one."""
    if name in DATA.names():
        return DATA.find(name), ()
    path = first_existing([Path(), *data_folders(root)], [str(Path(name).expanduser())])
    if path is None and DATA.is_own(name):
        return DATA.find(name), ()
    if path is None or not name.strip():
        raise InputError(_unknown(name, root))
    if path.is_dir():
        from wassermix.data.folder import load_folder

        return load_folder, (path,)
    if (loader := _file_loader(path.name)) is not None:
        return loader, (path,)
    raise InputError(
        f"data '{name}' is a file of no known type; expected .npz, {', '.join(TABLES)} or a folder of images"
    )


def _loader(name: str) -> Loader:
    """The loader for ``name``; a file's ending tells it, so that options are known without the file."""
    loader = None if name in DATA.names() or Path(name).expanduser().exists() else _file_loader(name)
    return _find(name, None)[0] if loader is None else loader


def _file_loader(name: str) -> Loader | None:
    """The loader of files that end like this, or None."""
    if name.endswith(".npz"):
        from wassermix.data.npz import load_npz

        return load_npz
    if name.endswith(TABLES):
        from wassermix.data.table import load_table

        return load_table
    return None


def _unknown(name: str, root: Path | None) -> str:
    if "/" in name or Path(name).suffix:
        places = ", ".join(f"'{place}'" for place in data_folders(root))
        return f"data '{name}' does not exist, neither in the current folder nor in {places}"
    return (
        f"data '{name}' is unknown; {nearest(name, DATA.names())}, "
        "or give the path of an npz file, a CSV table or a folder of images"
    )


def _refuse_unknown(name: str, options: Mapping[str, Any], loader: Loader) -> None:
    known = _own_options(loader)
    for key in options:
        if key not in known:
            raise InputError(f"data '{name}' takes no option '{key}'; it takes {', '.join(known) or 'none'}")


def _own_options(loader: Loader) -> dict[str, tuple[Any, Any]]:
    """A loader's keyword arguments without those that :func:`load_data` supplies."""
    return keyword_options(loader, context=frozenset(keyword_options(load_data)))
