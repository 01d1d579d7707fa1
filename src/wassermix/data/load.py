"""One function from a name or a path to a data set."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wassermix.data.dataset import Dataset, hold_out, shrink
from wassermix.data.gaussians import load_gaussians
from wassermix.data.idx import load_fashion_mnist, load_mnist
from wassermix.data.locate import data_folders, first_existing
from wassermix.data.mnist5k import load_mnist5k
from wassermix.data.npz import Layout, load_npz
from wassermix.errors import InputError

__all__ = ["DATA", "load_data"]

Loader = Callable[..., Dataset]

DATA: dict[str, Loader] = {
    "mnist5k": load_mnist5k,
    "mnist": load_mnist,
    "fashion-mnist": load_fashion_mnist,
    "gaussians": load_gaussians,
}
"""The data sets known by name."""


def load_data(
    name: str | Path = "mnist5k",
    *,
    holdout: float = 0.0,
    train_size: int | None = None,
    seed: int = 0,
    root: Path | None = None,
    download: bool = True,
    layout: Layout | None = None,
    test_size: int | None = None,
    classes: int | None = None,
    dim: int | None = None,
    separation: float | None = None,
    sd: float | None = None,
) -> Dataset:
    """Load a data set by name or path, then take ``holdout`` and ``train_size`` out of its training split.

    ``seed`` fixes every random choice here (held-out part, subset, test share, synthetic samples) and is
    best left alone when a training's seed changes, so that runs stay comparable. The other options belong
    to one kind of data each; one that the chosen data does not know is an :class:`InputError`.
    """
    loader, where = _find(str(name), root)
    given = {"layout": layout, "test_size": test_size, "classes": classes, "dim": dim,
             "separation": separation, "sd": sd}  # fmt: skip
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    context: dict[str, Any] = {"root": root, "download": download, "seed": seed}
    known = inspect.signature(loader).parameters
    _refuse_unknown(str(name), options, known=list(known))
    options |= {key: value for key, value in context.items() if key in known}
    if "train_size" in known and train_size is not None and 0 <= holdout < 1:
        options["train_size"] = math.ceil(
            train_size / (1 - holdout)
        )  # made to measure: shrink trims the rest
    data = loader(*where, **options)
    return shrink(hold_out(data, holdout, seed), train_size, seed)


def _find(name: str, root: Path | None) -> tuple[Loader, tuple[Path, ...]]:
    """The loader for ``name``, and the path for it where ``name`` is one."""
    if name in DATA:
        return DATA[name], ()
    path = first_existing([Path(), *data_folders(root)], [str(Path(name).expanduser())])
    if path is None:
        raise InputError(_unknown(name, root))
    if path.suffix == ".npz":
        return load_npz, (path,)
    raise InputError(f"data '{name}' is of no known kind; expected a .npz file")


def _unknown(name: str, root: Path | None) -> str:
    if "/" in name or Path(name).suffix:
        places = ", ".join(f"'{place}'" for place in ["the current folder", *map(str, data_folders(root))])
        return f"data '{name}' does not exist, neither as it stands nor in {places}"
    close = difflib.get_close_matches(name.lower(), DATA, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"data '{name}' is unknown; {hint}known are {', '.join(DATA)}, or give the path of an npz file"


def _refuse_unknown(name: str, options: dict[str, Any], *, known: list[str]) -> None:
    for key in options:
        if key not in known:
            takes = [
                option for option in known if option not in ("path", "root", "seed", "download", "train_size")
            ]
            raise InputError(f"data '{name}' takes no option '{key}'; it takes {', '.join(takes) or 'none'}")
