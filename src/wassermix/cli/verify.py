"""``wassermix verify``: do the certificates of a run follow from their counts?"""

from __future__ import annotations

from pathlib import Path

from wassermix.certify import find_certifications, verify_file
from wassermix.cli.console import say
from wassermix.core.errors import InputError

__all__ = ["run_verify"]


def run_verify(what: Path) -> bool:
    """Print a line a file, and one for each certificate that does not hold."""
    files, holds = find_certifications(what), True
    for path in files:
        try:
            result = verify_file(path)
        except InputError as error:
            if len(files) == 1:
                raise
            say(f"{path}: cannot be verified: {error}")
            holds = False
            continue
        holds = holds and result.holds
        verdict = "all hold" if result.holds else f"{len(result.failures)} do NOT hold"
        say(f"{result.path}: {result.certificates} certificates, {verdict}")
        for index, problem in result.failures:
            say(f"  {'summary' if index < 0 else f'image {index}'}: {problem}")
    return holds
