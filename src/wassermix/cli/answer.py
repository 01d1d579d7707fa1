"""``--json``: what a command found, as one JSON document for programs, beside the same table for people.

A command that answers returns a record of plain values; :func:`answering` gives it the option. With it the
standard output holds the document and nothing else: tables, remarks and progress go to the standard error
stream, and an error leaves the standard output empty.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from wassermix import __version__
from wassermix.cli.console import beside_results

__all__ = ["Answer", "answering", "plain"]

AsJson = Annotated[
    bool, typer.Option("--json", help="print one JSON document; tables and remarks go to stderr")
]


@dataclass(frozen=True)
class Answer:
    """What a command found, and the exit code that says it to a shell."""

    record: Mapping[str, Any] = field(default_factory=dict)
    code: int = 0


def answering(function: Callable[..., Answer]) -> Callable[..., None]:
    """Give a command the option ``--json``; it always returns its :class:`Answer`."""

    @functools.wraps(function)
    def command(*, as_json: bool, **values: Any) -> None:
        with beside_results() if as_json else nullcontext():
            answer = function(**values)
        if as_json and os.environ.get("RANK", "0") == "0":  # of several processes one answers
            sys.stdout.write(_document(function.__name__, answer.record))
            sys.stdout.flush()
        if answer.code:
            raise typer.Exit(answer.code)

    own = inspect.signature(function, eval_str=True).parameters.values()
    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, option)]
    command.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    return command


def _document(command: str, record: Mapping[str, Any]) -> str:
    told = {"command": command, "version": __version__, **record}
    return json.dumps(plain(told), indent=1, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A value as JSON has it: infinite and undefined numbers are null, paths and other objects are text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return value.as_posix()
    return value if isinstance(value, str | int | bool | None) else str(value)
