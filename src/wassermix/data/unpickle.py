"""Pickles without their danger: number arrays and plain containers are read, anything else is refused."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wassermix.core.errors import InputError

__all__ = ["read_pickle"]


class _Kind:
    """Stands for a pickled ``numpy.dtype``: numbers and fixed text only, no objects, no structures."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.dtype: np.dtype[Any] = np.dtype(code.decode("ascii") if isinstance(code, bytes) else code)
        if self.dtype.kind not in "biufcSU":
            raise pickle.UnpicklingError(f"an array of type {self.dtype}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order: Any = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """Stands for a pickled ``numpy.ndarray`` while it is read: numpy's own way is too trusting."""

    value: NDArray[Any]

    def __init__(self, *_: Any) -> None:
        self.value = np.empty(0)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, content = state
        self.value = _frombuffer(content, kind, shape, "F" if fortran else "C")


def _frombuffer(buffer: Any, kind: _Kind, shape: tuple[int, ...], order: Any) -> Any:
    return np.frombuffer(buffer, dtype=kind.dtype).reshape(shape, order=order).copy()


def _scalar(kind: _Kind, content: bytes) -> Any:
    return np.frombuffer(content, dtype=kind.dtype)[0]


def _latin1(text: str, encoding: str) -> bytes:
    """How Python 3 pickles bytes in old protocols."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding}")
    return text.encode("latin1")


_ADMITTED: dict[tuple[str, str], Any] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _frombuffer for core in ("core", "_core")},
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _latin1,
    ("collections", "OrderedDict"): OrderedDict,
    **{(module, kind.__name__): kind for module in ("builtins", "__builtin__") for kind in (set, frozenset)},
}


class _Careful(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"'{module}.{name}'")
        return _ADMITTED[module, name]


def read_pickle(content: bytes, where: str) -> Any:
    """What a pickle holds (text of Python 2 as bytes); one that names any other function is refused."""
    try:
        return _plain(_Careful(io.BytesIO(content), encoding="bytes").load(), {})
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{where} is refused: it asks for {error}, and a pickle may hold number arrays and plain "
            "containers only (anything else could run code), or it is damaged; fetch it from its source again"
        ) from error
    except Exception as error:  # a cut-off or hostile stream can fail in any way
        raise InputError(
            f"{where} is damaged or cut off ({type(error).__name__}: {error}); fetch it again"
        ) from error


def _plain(value: Any, seen: dict[int, Any]) -> Any:
    """The value with arrays in place of what stood for them; each container is visited once.

    Without ``seen`` a few hundred bytes of lists that hold each other twice would take forever.
    """
    if isinstance(value, _Array):
        return value.value
    if not isinstance(value, (dict, list, tuple)):
        return value
    if id(value) not in seen:
        seen[id(value)] = None  # a container inside itself becomes None
        if isinstance(value, dict):
            seen[id(value)] = {key: _plain(inner, seen) for key, inner in value.items()}
        else:
            seen[id(value)] = type(value)(_plain(inner, seen) for inner in value)
    return seen[id(value)]
