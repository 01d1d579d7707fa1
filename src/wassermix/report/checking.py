"""Reading fields of a JSON object with errors that name the file, the field and what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wassermix.core.errors import InputError
from wassermix.core.intervals import Share
from wassermix.report.records import Floats

__all__ = ["Fields"]


class Fields:
    """One JSON object of a file; each reader raises :class:`InputError` with a whole sentence."""

    def __init__(self, value: Any, where: Path, inside: str = "") -> None:
        self.where, self.inside = where, inside
        if not isinstance(value, Mapping):
            raise InputError(
                f"'{where}'{inside}: got {kind(value)}, expected an object of named values; {MEND}"
            )
        self.values = value

    def fail(self, key: str, expected: str) -> InputError:
        """The error for a field that is not what it should be."""
        got = kind(self.values[key]) if key in self.values else "nothing"
        return InputError(f"'{self.where}'{self.inside}: field '{key}' is {got}, expected {expected}; {MEND}")

    def number(self, key: str) -> float:
        """A finite number."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(value):
            raise self.fail(key, "a finite number")
        return float(value)

    def optional(self, key: str) -> float | None:
        """A finite number, or None where the field is absent or null."""
        return None if self.values.get(key) is None else self.number(key)

    def text(self, key: str) -> str:
        """A name: text, or a whole number such as a class."""
        value = self.values.get(key)
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self.fail(key, "a name")
        return str(value)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.fail(key, "true or false")
        return value

    def array(self, key: str, length: int | None = None) -> Floats:
        """A list of finite numbers, of the given length where one is given."""
        value = self.values.get(key)
        expected = "a list of finite numbers" if length is None else f"a list of {length} finite numbers"
        if not isinstance(value, list):
            raise self.fail(key, expected)
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self.fail(key, expected) from error
        if array.ndim != 1 or not np.isfinite(array).all() or (length is not None and len(array) != length):
            raise self.fail(key, expected)
        return array

    def objects(self, key: str) -> Iterator[Fields]:
        """The objects of a list, one by one."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.fail(key, "a list of objects")
        for position, item in enumerate(value):
            yield Fields(item, self.where, f"{self.inside}, {key}[{position}]")

    def inner(self, key: str) -> Fields:
        """The object in a field."""
        return Fields(self.values.get(key), self.where, f"{self.inside}, {key}")

    def share(self, images: int) -> Share:
        """The share that this object's ``accuracy``, ``low`` and ``high`` describe."""
        accuracy, low, high = self.number("accuracy"), self.number("low"), self.number("high")
        if not -1e-9 <= low <= accuracy + 1e-9 <= high + 2e-9 <= 1 + 4e-9:
            raise InputError(
                f"'{self.where}'{self.inside}: accuracy {accuracy} with interval [{low}, {high}]; "
                f"expected 0 <= low <= accuracy <= high <= 1; {MEND}"
            )
        return Share(accuracy, low, high, images)


MEND = "run the command that wrote it again with --overwrite"


def kind(value: Any) -> str:
    """A short description of a wrong value for an error message."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return f"a {type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__
