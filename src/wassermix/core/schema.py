"""JSON schemas of result files, from the dataclasses that the files are written from."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from wassermix.core.settings import options_of

__all__ = ["FileShape", "fields_of", "settings_of"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class FileShape:
    """The keys of a JSON file: name -> (type, what it says)."""

    title: str
    description: str
    keys: Mapping[str, tuple[Any, str]]
    optional: Collection[str] = ()
    """Keys that a file may lack."""
    open: bool = False
    """Whether other keys may stand beside, such as the parameters of an attack of the user's own."""

    def schema(self) -> dict[str, Any]:
        """The JSON schema (draft 2020-12) of such a file."""
        parts: dict[str, Any] = {}
        properties = {key: _property(hint, says, parts) for key, (hint, says) in self.keys.items()}
        return {
            "$schema": DIALECT,
            "title": self.title,
            "description": self.description,
            "type": "object",
            "properties": properties,
            "required": [key for key in self.keys if key not in self.optional],
            "additionalProperties": self.open,
            **({"$defs": dict(sorted(parts.items()))} if parts else {}),
        }


def settings_of(settings: type[Any]) -> dict[str, tuple[Any, str]]:
    """The keys that a settings class writes into a file, with their help."""
    return {option.name: (option.type, option.help) for option in options_of(settings)}


def fields_of(result: type[Any], *, omit: Collection[str] = ()) -> dict[str, tuple[Any, str]]:
    """The fields of a dataclass, with the docstrings that stand below them."""
    hints, says = typing.get_type_hints(result), _docstrings(result)
    names = [field.name for field in dataclasses.fields(result) if field.name not in omit]
    return {name: (hints[name], says.get(name, "")) for name in names}


def _property(hint: Any, says: str, parts: dict[str, Any]) -> dict[str, Any]:
    """The schema of one value; those of dataclasses inside it go to ``parts``."""
    from pydantic import TypeAdapter

    made = _tidy(TypeAdapter(hint).json_schema(mode="serialization"))
    parts |= made.pop("$defs", {})
    return {**({"description": says} if says else {}), **made}


def _tidy(schema: Any) -> Any:
    """Without titles and defaults; an object has all of its keys, and no others."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    known = {key: value for key, value in schema.items() if key not in ("title", "default", "properties")}
    made = {key: _tidy(value) for key, value in known.items()}
    if "properties" in schema:
        properties = {key: _tidy(value) for key, value in schema["properties"].items()}
        made |= {"properties": properties, "required": list(properties), "additionalProperties": False}
    return made


def _docstrings(result: type[Any]) -> dict[str, str]:
    """The strings below the fields of a class, as its source has them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(result))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value.value if _is_text(below) else None  # type: ignore[attr-defined]
            if text is not None:
                found[field.target.id] = inspect.cleandoc(text)
    return found


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
