"""Package names that are imported when they are first used, so that starting costs nothing."""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Callable
from importlib.abc import InspectLoader
from typing import Any

__all__ = ["callable_package", "lazy_names"]


def lazy_names(package: str) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` for ``package``, whose public names stand under ``if TYPE_CHECKING:``.

    A package writes its imports once, as usual, but under ``if TYPE_CHECKING:`` (type checkers and editors
    read them there), and ends with ``__getattr__ = lazy_names(__name__)``: at run time each import happens
    when its name is first asked for. So a module of a package can be imported without its siblings, and
    the command line answers ``--help`` without importing torch.
    """
    homes = _homes(package)

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, attribute = homes[name]
        value = getattr(importlib.import_module(module), attribute)
        setattr(sys.modules[package], name, value)  # next time it is found without asking here
        return value

    return __getattr__


def callable_package(package: str, function: str) -> None:
    """Let a package be called like its main function: ``wm.certify(...)`` though ``certify`` is a folder too.

    Importing ``wassermix.certify.anything`` binds ``wassermix.certify`` to the folder, whichever name the
    parent had given to the function; so the folder itself passes the call on.
    """

    class CallablePackage(types.ModuleType):
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return getattr(self, function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage


def _homes(package: str) -> dict[str, tuple[str, str]]:
    """Public name -> (module, name there), read from the package's own ``if TYPE_CHECKING:`` block."""
    spec = sys.modules[package].__spec__
    assert spec is not None
    assert isinstance(spec.loader, InspectLoader)
    tree = ast.parse(spec.loader.get_source(package) or "")
    blocks = [node for node in tree.body if isinstance(node, ast.If) and _is_type_checking(node.test)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names
    }


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
