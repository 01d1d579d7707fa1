"""What a command that stopped before its end says: an error as a sentence, and how to go on."""

from __future__ import annotations

import shlex

from wassermix.core.errors import InputError

__all__ = ["how_to_go_on", "sentence_of"]

GO_ON_BY_THEMSELVES = ("demo", "reproduce")
RESUMABLE = ("train", "certify", "attack", "audit", "drift")


def how_to_go_on(words: list[str]) -> str:
    """What to type after Ctrl-C: some commands go on by themselves, some with --resume, some begin anew."""
    command = words[0] if words else ""
    if command in GO_ON_BY_THEMSELVES:
        return "the same command goes on where it stopped"
    if command in RESUMABLE:
        flagged = [word for word in words if word not in ("--resume", "--overwrite")]
        return f"`{shlex.join(['wassermix', *flagged, '--resume'])}` goes on where it stopped"
    return "nothing was left half-written; the same command begins anew"


def sentence_of(error: Exception) -> str:
    """The line that is printed instead of a traceback."""
    if isinstance(error, InputError):
        return f"wassermix: {error}"
    return f"wassermix failed: {type(error).__name__}: {error} (--debug shows where)"
