"""The errors that the command line turns into a sentence: what a user can correct, and a lost process."""

from __future__ import annotations

__all__ = ["InputError", "LostProcessError"]


class InputError(ValueError):
    """What the user said or gave is off.

    The message is a sentence that says what is wrong, where, what was got, what was expected and
    what to do: ``data 'a.npz': labels run from 1 to 10; expected 0 to k-1; subtract 1 from them``.
    """


class LostProcessError(RuntimeError):
    """Another of the processes that share a command has ended, so the rest cannot go on; exit code 1."""
