"""``wassermix verify``: do the certificates of a run follow from their counts?"""

from __future__ import annotations

from pathlib import Path

from wassermix.certify import find_certifications, verify_file
from wassermix.cli.console import say
from wassermix.core.errors import InputError
from wassermix.evidence import check_bundle, is_bundle

__all__ = ["run_verify"]


def run_verify(what: Path) -> bool:
    """Print one line per file, and one for each certificate that does not hold."""
    holds = _bundle_holds(what)
    files = find_certifications(what / "run" if is_bundle(what) else what)
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


def _bundle_holds(what: Path) -> bool:
    """Whether every file of a bundle is what its manifest says; True for what is no bundle."""
    if not is_bundle(what):
        return True
    checked = check_bundle(what)
    say(f"{what}: {checked.files} files, {'all as they were' if checked.holds else 'NOT as they were'}")
    for problem in checked.problems:
        say(f"  {problem}")
    return checked.holds
