"""The error that a user can correct: the command line turns it into a sentence and exit code 2."""

from __future__ import annotations

__all__ = ["InputError"]


class InputError(ValueError):
    """What the user said or gave is off.

    The message is a sentence that says what is wrong, where, what was got, what was expected and
    what to do: ``data 'a.npz': labels run from 1 to 10; expected 0 to k-1; subtract 1 from them``.
    """
