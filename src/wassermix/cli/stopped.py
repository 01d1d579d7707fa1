"""What a command that stopped before its end says: an error as a sentence, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from wassermix.cli.processes import split_processes
from wassermix.core.errors import InputError

__all__ = ["how_to_go_on", "sentence_of"]

GO_ON_BY_THEMSELVES = ("demo", "reproduce")
RESUMABLE = ("train", "certify", "attack", "audit", "drift")


def how_to_go_on(words: Sequence[str]) -> str:
    """What to type after Ctrl-C: some commands go on by themselves, some with --resume, some begin anew."""
    command = next(iter(split_processes(words)[0]), "")
    if command in GO_ON_BY_THEMSELVES:
        return f"`{_line(words)}` goes on where it stopped"
    if command in RESUMABLE:
        return f"`{_line(words)} --resume` goes on where it stopped"
    return "nothing was left half-written; the same command begins anew"


def _line(words: Sequence[str]) -> str:
    """The command line without the flags that would throw away what is done, or be given twice."""
    return shlex.join(["wassermix", *(word for word in words if word not in ("--overwrite", "--resume"))])


def sentence_of(error: Exception) -> str:
    """The line that is printed instead of a traceback."""
    if isinstance(error, InputError):
        return f"wassermix: {error}"
    return f"wassermix failed: {type(error).__name__}: {error} (--debug shows where)"
