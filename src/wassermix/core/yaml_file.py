"""YAML files of users: read without running anything, and refused with a sentence where they are off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wassermix.core.errors import InputError

__all__ = ["read_mapping"]

MOST_VALUES = 100_000
"""Aliases let a file of a few lines stand for billions of values; no settings need so many."""


def read_mapping(path: Path, what: str, *, keys: str = "data, model, method") -> dict[str, Any]:
    """What a YAML file says; an error tells ``what`` it is ("recipe", "table") and some ``keys`` of such."""
    import yaml

    where = f"{what} '{path}'"
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not text in UTF-8 (byte {error.start}); save it as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
        raise InputError(f"{where}{line} is not valid YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(raw, Mapping):
        held = "is empty" if raw is None else f"holds {type(raw).__name__}"
        raise InputError(f"{where} {held}; expected keys such as {keys}")
    if _values(raw, {}) > MOST_VALUES:
        raise InputError(f"{where} stands for more than {MOST_VALUES:,} values; write it without aliases")
    return dict(raw)


def _values(value: object, known: dict[int, float]) -> float:
    """How many values a parsed file stands for, aliases counted each time; infinite where it holds itself."""
    if not isinstance(value, Mapping | list):
        return 1
    if id(value) not in known:
        known[id(value)] = float("inf")  # until its parts are counted: what holds itself never ends
        parts = value.values() if isinstance(value, Mapping) else value
        known[id(value)] = 1 + sum(_values(part, known) for part in parts)
    return known[id(value)]
