"""Objects of the user's own, named ``package.module:object`` in a config or on the command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError

__all__ = ["import_object"]


def import_object(name: str, *, what: str) -> Any:
    """The callable behind ``package.module:object``; the current folder is importable from then on.

    ``what`` says in an error what the object was wanted for: "model", "method", ...
    """
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise InputError(f"{what} '{name}' cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise InputError(f"{what} '{name}' is a {type(found).__name__}; expected a class or function")
    return found
