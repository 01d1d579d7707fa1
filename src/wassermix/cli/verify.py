"""``wassermix verify``: do certificates follow from their counts, and the counts from the noise?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wassermix.certify import Verification, find_certifications, read_verifiable, replay_images, verify_file
from wassermix.cli.bundle import from_bundle, unpacked
from wassermix.cli.certify import in_precision
from wassermix.cli.console import say
from wassermix.cli.target import load_target
from wassermix.core.errors import InputError
from wassermix.engine.target import LAST_WEIGHTS
from wassermix.evidence import check_bundle, is_bundle

__all__ = ["run_verify"]


Record = dict[str, Any]


def run_verify(what: Path, options: Mapping[str, Any], *, replay: int = 0) -> Record:
    """Print one line per file, and one for each certificate that does not hold; the same as a record.

    With ``replay`` the noise of so many random images is drawn again; ``options`` name the model and the
    data (:class:`~wassermix.cli.common.TargetOptions`), by default the run's own.
    """
    if replay < 0:
        raise InputError(f"--replay is {replay}; expected a number of images, such as 20")
    with unpacked(what) as folder:
        return _all_verified(folder, options, replay=replay)


def _all_verified(what: Path, options: Mapping[str, Any], *, replay: int) -> Record:
    bundle = _bundle(what) if is_bundle(what) else None
    files = find_certifications(what / "run" if is_bundle(what) else what)
    found = []
    for path in files:
        try:
            found.append(_verified(path, options, replay=replay))
        except InputError as error:
            if len(files) == 1:
                raise
            say(f"{path}: cannot be verified: {error}")
            found.append({"file": path, "holds": False, "error": str(error)})
    holds = all(one["holds"] for one in (*found, *([] if bundle is None else [bundle])))
    return {"holds": holds, **({} if bundle is None else {"bundle": bundle}), "files": found}


def _bundle(what: Path) -> Record:
    """Whether every file of a bundle is what its manifest says."""
    checked = check_bundle(what)
    say(f"{what}: {checked.files} files, {'all as they were' if checked.holds else 'NOT as they were'}")
    for problem in checked.problems:
        say(f"  {problem}")
    return {"folder": what, "files": checked.files, "holds": checked.holds, "problems": checked.problems}


def _verified(path: Path, options: Mapping[str, Any], *, replay: int) -> Record:
    result = verify_file(path, trust=bool(options.get("trust")))
    _say_result(result)
    found = {"file": path, "holds": result.holds, "certificates": result.certificates}
    found["failures"] = _problems(result.failures)
    if replay:
        found["replay"] = again = _replayed(path, options, images=replay)
        found["holds"] = again["holds"] and result.holds
    return found


def _say_result(result: Verification) -> None:
    verdict = "all hold" if result.holds else f"{len(result.failures)} do NOT hold"
    say(f"{result.path}: {result.certificates} certificates, {verdict}")
    _list(result.failures)


def _replayed(path: Path, options: Mapping[str, Any], *, images: int) -> Record:
    """Draw some images again with the model and the data that the options or the run name."""
    found = read_verifiable(path, trust=bool(options.get("trust")))
    settings = found.settings
    assert settings is not None, "a verifiable file has its parameters"
    run = path.parent.parent
    last = bool(options.get("last")) or found.about.get("weights") == LAST_WEIGHTS
    given = {**options, "split": found.about.get("split", options.get("split", "test")), "last": last}
    if is_bundle(run.parent) and options.get("model") is None:
        model, samples = from_bundle(run.parent, given, last=last)
    else:
        target = load_target(run, **given)
        model, samples = target.model, target.split
    result = replay_images(in_precision(model, settings.precision), samples, found, images=images)
    say(f"{path}: {result.statement}")
    _list(result.failures)
    _list(result.ties, note="tie: ")
    return {
        "holds": result.holds,
        "statement": result.statement,
        "images": result.replayed,
        "failures": _problems(result.failures),
        "ties": _problems(result.ties),
    }


def _problems(problems: tuple[tuple[int, str], ...]) -> list[Record]:
    """As a record: the image's index, or null for the file as a whole, and what is wrong."""
    return [{"image": None if index < 0 else index, "problem": what} for index, what in problems]


def _list(problems: tuple[tuple[int, str], ...], *, note: str = "") -> None:
    for index, problem in problems:
        say(f"  {note}{'the file' if index < 0 else f'image {index}'}: {problem}")
