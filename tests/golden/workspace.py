"""A folder with tiny data in which commands are run as a user types them, each once and when first needed."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

__all__ = ["Workspace"]

TRAINED, TESTED, SIDE, CLASSES = 64, 45, 16, 4
CENTRES = np.array([[4, 4], [4, 11], [11, 4], [11, 11]])
WIDE = "400"
"""Columns of the terminal: no line of a help text is broken."""


class Workspace:
    """Data, runs and results in one folder; ``run`` is the command line in this process.

    Only ``python -m wassermix`` is known here, no module below it: the code may move as it likes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.data = self.folder / "blobs.npz"
        self._done: dict[tuple[str, ...], str] = {}
        _write_blobs(self.data)

    def run(self, *words: object) -> str:
        """What ``wassermix WORDS`` prints; a second call with the same words does nothing."""
        typed = tuple(map(str, words))
        if typed not in self._done:
            self._done[typed] = self._run(typed)
        return self._done[typed]

    def _run(self, words: tuple[str, ...]) -> str:
        shown, said = io.StringIO(), io.StringIO()
        code: object = 0
        with _as_typed(words), contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
            try:
                runpy.run_module("wassermix", run_name="__main__")
            except SystemExit as stop:
                code = stop.code
        if code:
            raise RuntimeError(f"wassermix {' '.join(words)} ended with {code}: {said.getvalue()}")
        return shown.getvalue()

    def anonymous(self, text: str) -> str:
        """The text without this folder's path."""
        return text.replace(f"{self.folder}{os.sep}", "")


@contextlib.contextmanager
def _as_typed(words: tuple[str, ...]) -> Iterator[None]:
    argv, columns = sys.argv, os.environ.get("COLUMNS")
    sys.argv, os.environ["COLUMNS"] = ["wassermix", *words], WIDE
    try:
        yield
    finally:
        sys.argv = argv
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def _write_blobs(path: Path) -> None:
    """Four classes of 16x16 images: a bright spot near one of four places, in eight bits."""
    draw = np.random.default_rng(7)
    (x_train, y_train), (x_test, y_test) = _blobs(TRAINED, draw), _blobs(TESTED, draw)
    np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


def _blobs(count: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(count) % CLASSES
    centre = CENTRES[y] + draw.normal(0, 1.2, (count, 2))
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    away = (rows - centre[:, :1, None]) ** 2 + (columns - centre[:, 1:, None]) ** 2
    x = 0.1 + 0.8 * np.exp(-away / 8) + draw.normal(0, 0.08, (count, SIDE, SIDE))
    return np.round(255 * x.clip(0, 1)).astype(np.uint8), y
