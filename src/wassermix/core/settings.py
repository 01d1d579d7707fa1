"""Settings: one frozen dataclass for each evaluation, from which everything else about its options follows.

A field is declared once, with its default and one line of help::

    @dataclass(frozen=True, kw_only=True)
    class CertifySettings:
        n: int = setting(100_000, "noise draws for each image")

From it come the command's option (:mod:`wassermix.cli.options`), the key in a table's YAML
(:func:`settings_from`), the contents of the result file (:func:`as_record`, :func:`from_record`), and the
identity that decides whether two numbers may stand in one table (:func:`identity`).
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass
from typing import Any, TypeVar

from wassermix.core.errors import InputError

__all__ = [
    "Option",
    "as_record",
    "from_record",
    "identity",
    "nearest",
    "options_of",
    "parse_number",
    "read_number",
    "setting",
    "settings_from",
    "spell_number",
]

S = TypeVar("S")
_PLAIN = {
    "help": "", "identity": True, "from_run": False, "hidden": False, "flag": None, "several": False,
}  # fmt: skip
_FRACTION = re.compile(r"\s*\d+(\.\d+)?\s*/\s*\d+(\.\d+)?\s*")


@dataclass(frozen=True)
class Option:
    """One field of a settings class, as commands, tables and pages see it."""

    name: str
    type: Any
    default: Any
    """``dataclasses.MISSING`` where there is none."""
    help: str
    identity: bool
    """Whether two results with different values of it may not stand in one table."""
    from_run: bool
    """Whether a command fills it from the run where the user does not give it."""
    hidden: bool
    """Whether it is reached from Python and YAML only, not from the command line."""
    flag: str | None
    """The command line's name, where it is not ``--name``."""
    several: bool
    """Whether the command line takes several values with commas, each for a result of its own."""


def setting(
    default: Any = MISSING,
    help: str = "",
    *,
    identity: bool = True,
    from_run: bool = False,
    hidden: bool = False,
    flag: str | None = None,
    several: bool = False,
) -> Any:
    """A field of a settings class; see :class:`Option` for what the marks mean."""
    marks = {**_PLAIN, "help": help, "identity": identity, "from_run": from_run}
    marks |= {"hidden": hidden, "flag": flag, "several": several}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata={"wassermix": marks})
    return dataclasses.field(default=default, metadata={"wassermix": marks})


def options_of(settings: type[Any]) -> tuple[Option, ...]:
    """The fields of a settings class in their order."""
    hints = typing.get_type_hints(settings)
    return tuple(_option(field, hints[field.name]) for field in dataclasses.fields(settings))


def _option(field: Field[Any], hint: Any) -> Option:
    marks = field.metadata.get("wassermix", _PLAIN)
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return Option(field.name, hint, default, **marks)


def settings_from(settings: type[S], values: Mapping[str, Any], *, where: str) -> S:
    """Settings from the keys of a YAML section or a call; unknown keys are named, values checked.

    ``where`` says in an error which section it was: "certify", "table 'mine', attacks[0]", ...
    """
    from pydantic import TypeAdapter, ValidationError

    options = {option.name: option for option in options_of(settings)}
    for key in values:
        if key not in options:
            raise InputError(f"{where}: key '{key}' is unknown; {nearest(str(key), options)}")
    converted = {}
    for key, value in values.items():
        try:
            converted[key] = TypeAdapter(options[key].type).validate_python(parse_number(value))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise InputError(f"{where}: {key} is {value!r}; {reason}; {options[key].help}") from error
    lacking = [name for name, o in options.items() if o.default is MISSING and name not in values]
    if lacking:
        raise InputError(f"{where}: '{lacking[0]}' is missing; {options[lacking[0]].help}")
    return settings(**converted)


def as_record(settings: Any) -> dict[str, Any]:
    """The settings as plain JSON values, every field."""
    return {option.name: _plain(getattr(settings, option.name)) for option in options_of(type(settings))}


def from_record(settings: type[S], record: Mapping[str, Any]) -> S:
    """Settings back from a file: keys of other things are passed over, absent ones take their default.

    So files of earlier versions stay readable, and a whole result record may be given.
    """
    names = {option.name for option in options_of(settings)}
    own = {key: value for key, value in record.items() if key in names and value is not None}
    return settings_from(settings, own, where=f"a record of {settings.__name__}")


def identity(settings: Any) -> tuple[tuple[str, Any], ...]:
    """What two results must share to stand in one table: every field that is not marked otherwise."""
    record = as_record(settings)
    return tuple((o.name, _hashable(record[o.name])) for o in options_of(type(settings)) if o.identity)


def parse_number(value: Any) -> Any:
    """A fraction written as text, such as ``"8/255"``, as a number; anything else unchanged."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        above, below = value.split("/")
        if float(below) == 0:
            raise InputError(f"'{value}' divides by zero; expected a fraction such as 8/255")
        return float(above) / float(below)
    return value


def read_number(value: Any) -> float:
    """A number, also one written as text or as a fraction: ``"8/255"`` is 0.0313...; NaN is refused."""
    try:
        number = float(parse_number(value))
    except (TypeError, ValueError) as error:
        raise InputError(f"'{value}' is not a number; expected one such as 0.5 or 8/255") from error
    if number != number:
        raise InputError(f"'{value}' is not a number; expected one such as 0.5 or 8/255")
    return number


def spell_number(value: float) -> str:
    """A number as a reader of the field writes it: ``8/255`` for steps of eight-bit images, ``0.5`` else."""
    steps = value * 255
    whole = abs(steps - round(steps)) < 1e-6 and 0 < round(steps) < 64
    return f"{round(steps)}/255" if whole else f"{value:g}"


def nearest(word: str, known: Iterable[str], prefix: str = "") -> str:
    """``did you mean 'x'? expected one of ...``: the end of a sentence about an unknown word."""
    names = sorted(known)
    if not names:
        return "it has no options"
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean '{prefix}{close[0]}'? " if close else ""
    return f"{hint}expected one of {', '.join(names)}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in sorted(value.items()))
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value
