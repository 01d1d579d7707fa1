"""Components by name: shipped ones, ``package.module:Class`` of the user's own, and installed plug-ins.

Each family (methods, attacks, ...) has one :class:`Registry` in its folder's ``registry.py``, with one line
for each shipped component. Names are looked up without importing anything; a component is imported when it
is asked for.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError
from wassermix.core.settings import nearest, parse_number

__all__ = ["Registry", "call_with", "has_trait", "import_object", "keyword_options", "typed_options"]

OWN = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
"""``package.module:object``; a path or an address that holds a colon looks otherwise."""


@dataclass(frozen=True)
class Registry:
    """The components of one family.

    ``family`` is the word in configs and errors ("method"); ``group`` the entry-point group in which an
    installed package announces its own ("wassermix.methods"); ``shipped`` maps a name to
    ``package.module:Class``.
    """

    family: str
    group: str
    shipped: Mapping[str, str]

    def names(self) -> list[str]:
        """Every name that can be used here: shipped ones first, then those of installed packages."""
        return [*self.shipped, *sorted(set(self._plugins()) - set(self.shipped))]

    def find(self, name: str) -> Callable[..., Any]:
        """The class or function called ``name``; unknown names are refused with the nearest one."""
        if name in self.shipped:
            return _imported(self.shipped[name], what=self.family)
        if name in (plugins := self._plugins()):
            return self._loaded(plugins[name])
        if self.is_own(name):
            return import_object(name, what=self.family)
        known = self.names()
        raise InputError(
            f"{self.family} '{name}' is unknown; {nearest(name, known)}, or your own package.module:object"
        )

    def is_own(self, name: str) -> bool:
        """Whether ``name`` is ``package.module:object``, which would import code that a file names."""
        return OWN.fullmatch(name) is not None and name not in self.shipped and name not in self._plugins()

    def declares(self, name: str, trait: str) -> bool:
        """Whether the class called ``name`` says ``trait = True``, before one is made."""
        return has_trait(self.find(name), trait)

    def make(self, name: str, options: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Any:
        """The component called ``name`` with its options, and those parts of ``context`` that it asks for."""
        return call_with(self.find(name), options, context or {}, what=f"{self.family} '{name}'")

    def options(self, name: str, *, context: frozenset[str] = frozenset()) -> dict[str, tuple[Any, Any]]:
        """``{option: (type, default)}`` of a component, without what ``context`` supplies."""
        return keyword_options(self.find(name), context=context)

    def _plugins(self) -> dict[str, EntryPoint]:
        return _announced(self.group, tuple(sys.path))

    def _loaded(self, point: EntryPoint) -> Callable[..., Any]:
        try:
            found: Callable[..., Any] = point.load()
        except Exception as error:  # whatever the installed package raises while it is imported
            raise InputError(
                f"{self.family} '{point.name}' of an installed package ({point.value}) cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        return found


@functools.cache
def _announced(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The entry points of ``group`` among the packages on ``path``, which is ``sys.path``.

    Kept, because a look reads a file of every installed package; another path is looked at anew.
    """
    return {point.name: point for point in entry_points(group=group)}


def call_with(
    factory: Callable[..., Any], options: Mapping[str, Any], context: Mapping[str, Any], *, what: str
) -> Any:
    """``factory(**options)`` with those parts of ``context`` that its signature names."""
    parameters = _parameters(factory)
    wanted = {key: value for key, value in context.items() if key in parameters and key not in options}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    unknown = [key for key in options if key not in parameters]
    if unknown and not takes_any:
        known = keyword_options(factory, context=frozenset(context))
        raise InputError(f"{what} has no option '{unknown[0]}'; {nearest(unknown[0], known)}")
    return factory(**wanted, **options)


def has_trait(component: object, trait: str) -> bool:
    """Whether a component or its class says ``trait = True``; what it does not say is False."""
    return getattr(component, trait, False) is True


def keyword_options(
    factory: Callable[..., Any], *, context: frozenset[str] = frozenset()
) -> dict[str, tuple[Any, Any]]:
    """The keyword-only arguments of a class or function: ``{name: (type, default)}``, ``...`` if required."""
    signed = factory.__init__ if inspect.isclass(factory) else factory
    try:  # a dataclass may inherit fields whose types only its parent's module knows
        hints = typing.get_type_hints(factory if is_dataclass(factory) else signed)
    except (NameError, TypeError):  # types that are imported for type checkers only
        hints = {}
    return {
        name: (hints.get(name, Any), _default(factory, parameter))
        for name, parameter in _parameters(signed).items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in context
    }


def _default(factory: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """A parameter's default, made where a dataclass only marks that a factory makes it; ``...`` if none."""
    if parameter.default is parameter.empty:
        return ...
    if is_dataclass(factory) and type(parameter.default).__module__ == "dataclasses":
        made = {field.name: field.default_factory for field in fields(factory)}
        return typing.cast(Callable[[], Any], made[parameter.name])()
    return parameter.default


def _parameters(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(factory).parameters
    except ValueError:  # a callable from C tells nothing about itself
        return {}


def typed_options(factory: Callable[..., Any], options: Mapping[str, Any], *, what: str) -> dict[str, Any]:
    """``options`` as the types in the factory's signature have them; unknown keys are left as they are."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    known, typed = keyword_options(factory), dict(options)
    for key in options.keys() & known.keys():
        try:
            adapter = TypeAdapter(known[key][0], config=ConfigDict(arbitrary_types_allowed=True))
            typed[key] = adapter.validate_python(parse_number(options[key]))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise InputError(f"{what}: option {key} is {options[key]!r}; {reason}") from error
    return typed


def import_object(name: str, *, what: str) -> Callable[..., Any]:
    """The callable behind ``package.module:object``; the current folder is importable from then on.

    ``what`` says in an error what the object was wanted for: "model", "method", ...
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    return _imported(name, what=what)


def _imported(name: str, *, what: str) -> Callable[..., Any]:
    module_name, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise InputError(f"{what} '{name}' cannot be imported: {type(error).__name__}: {error}") from error
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        raise InputError(f"{what} '{name}' is a {type(found).__name__}; expected a class or function")
    return typing.cast(Callable[..., Any], found)
