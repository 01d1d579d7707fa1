"""Pickles without their danger: number arrays and plain containers are read, anything else is refused."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np

from wassermix.errors import InputError

__all__ = ["read_pickle"]

_RECONSTRUCT = np.empty(0).__reduce__()[0]  # numpy's own, wherever this version keeps it
_SCALAR = np.float64(0).__reduce__()[0]


def _dtype(code: Any, *_: Any) -> np.dtype[Any]:
    """The number type for a pickled code, no objects; old files pass flags that numpy warns about."""
    kind: np.dtype[Any] = np.dtype(code.decode("ascii") if isinstance(code, bytes) else code)
    if kind.hasobject or kind.kind not in "biufcSU":
        raise pickle.UnpicklingError(f"an array of type {kind}")
    return kind


def _latin1(text: str, encoding: str) -> bytes:
    """How Python 3 pickles bytes in old protocols."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding}")
    return text.encode("latin1")


def _frombuffer(buffer: Any, kind: np.dtype[Any], shape: tuple[int, ...], order: Any) -> Any:
    """How numpy pickles an array in protocol 5."""
    return np.frombuffer(buffer, dtype=kind).reshape(shape, order=order).copy()


_ARRAYS = ("numpy.core.multiarray", "numpy._core.multiarray")
_ADMITTED: dict[tuple[str, str], Any] = {
    **{(module, "_reconstruct"): _RECONSTRUCT for module in _ARRAYS},
    **{(module, "scalar"): _SCALAR for module in _ARRAYS},
    ("numpy.core.numeric", "_frombuffer"): _frombuffer,
    ("numpy._core.numeric", "_frombuffer"): _frombuffer,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
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
        return _Careful(io.BytesIO(content), encoding="bytes").load()
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{where} is refused: it asks for {error}, and a pickle may hold number arrays and plain "
            "containers only (anything else could run code), or it is damaged; fetch it from its source again"
        ) from error
    except Exception as error:  # a cut-off or hostile stream can fail in any way
        raise InputError(
            f"{where} is damaged or cut off ({type(error).__name__}: {error}); fetch it again"
        ) from error
