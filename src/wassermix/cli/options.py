"""From settings classes to a command's options: each field becomes an option with its help and default."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union

import typer

from wassermix.cli.completion import COMPLETIONS
from wassermix.core.errors import InputError
from wassermix.core.settings import Option, options_of, read_number, spell_number

__all__ = ["command_with"]

T = TypeVar("T")


def command_with(*groups: type[Any]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a command the options of settings classes: ``@command_with(CertifySettings, JobOptions)``.

    The function is called with its own arguments, and for each class a dictionary of the options under the
    class's name in lower case with underscores (``certify_settings``, ``job_options``): values that the
    user gave or that have a default. A field marked ``from_run`` is in it only where the user gave it; one
    marked ``several`` is a tuple; a dictionary is given as ``--option key=value``, once for each key.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        own = [
            parameter
            for parameter in inspect.signature(function, eval_str=True).parameters.values()
            if parameter.name not in map(_group_name, groups)
        ]
        options = {
            option.name: group for group in groups for option in options_of(group) if not option.hidden
        }

        @functools.wraps(function)
        def command(**values: Any) -> T:
            grouped: dict[str, dict[str, Any]] = {_group_name(group): {} for group in groups}
            for name, group in options.items():
                value = values.pop(name)
                if value is not None:
                    grouped[_group_name(group)][name] = dict(value) if isinstance(value, list) else value
            return function(**values, **grouped)

        added = [_parameter(o) for group in groups for o in options_of(group) if not o.hidden]
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *added)]
        command.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        return command

    return decorate


def _group_name(group: type[Any]) -> str:
    """``CertifySettings`` -> ``certify_settings``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in group.__name__).lstrip("_")


def _parameter(option: Option) -> inspect.Parameter:
    required = option.default is dataclasses.MISSING and not option.from_run
    default = inspect.Parameter.empty if required else _shown_default(option)
    flag = option.flag or f"--{option.name.replace('_', '-')}"
    kind, extra = _annotation(option.type, several=option.several)
    if not required and not extra.get("is_flag", False) and default is None:
        kind = kind | None
    extra.pop("is_flag", None)
    info = typer.Option(flag, help=option.help, autocompletion=COMPLETIONS.get(option.name), **extra)
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _shown_default(option: Option) -> Any:
    default = None if option.default is dataclasses.MISSING or option.from_run else option.default
    if isinstance(default, tuple):
        return ",".join(map(str, default)) or None
    if isinstance(default, dict):
        return None
    return spell_number(default) if option.several and isinstance(default, float) else default


def _annotation(hint: Any, *, several: bool = False) -> tuple[Any, dict[str, Any]]:
    """What typer reads for a field's type, and the extra arguments of its option."""
    hint = _without_none(hint)
    if several:
        return str, {"parser": functools.partial(_listed, item=hint), "metavar": "A,B,..."}
    if typing.get_origin(hint) is Literal:
        return hint, {}
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return str, {"parser": functools.partial(_listed, item=item), "metavar": "A,B,..."}
    if typing.get_origin(hint) is dict:
        return list[str], {"parser": _key_and_value, "metavar": "KEY=VALUE"}
    if hint is bool:
        return bool, {"is_flag": True}
    if hint is float:
        return float, {"parser": read_number, "metavar": "NUMBER"}
    return (hint, {}) if hint in (int, str, Path) else (str, {})


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (Union, types.UnionType):
        rest = [one for one in typing.get_args(hint) if one is not type(None)]
        return rest[0] if len(rest) == 1 else str
    return hint


def _key_and_value(text: str) -> tuple[str, Any]:
    """``queries=200`` as a key and a number, text or truth value."""
    import yaml

    key, equals, value = text.partition("=")
    if not (key and equals):
        raise InputError(f"'{text}' is no option; expected KEY=VALUE, such as queries=200")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InputError(f"'{text}' cannot be read; expected KEY=VALUE, such as queries=200") from error


def _listed(text: str, *, item: Any) -> Any:
    read = read_number if item is float else item
    return tuple(read(word.strip()) for word in str(text).split(",") if word.strip())
