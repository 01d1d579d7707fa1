"""Refusing settings of an augmenter that cannot mean anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from wassermix.core.errors import InputError

__all__ = ["require_rules", "require_words"]


def require_words(augment: object, words: Mapping[str, Any]) -> None:
    """Each option named in ``words`` is one of the words of its ``Literal``."""
    for name, kind in words.items():
        if getattr(augment, name) not in get_args(kind):
            expected = ", ".join(get_args(kind))
            raise InputError(f"augment: {name} is '{getattr(augment, name)}'; expected one of {expected}")


def require_rules(rules: Mapping[str, bool]) -> None:
    """Each sentence in ``rules`` holds; the first that does not is the error."""
    for sentence, holds in rules.items():
        if not holds:
            raise InputError(f"augment: {sentence}")
