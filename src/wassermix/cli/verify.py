"""``wassermix verify``: do certificates follow from their counts, and the counts from the noise?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wassermix.certify import Verification, find_certifications, read_verifiable, replay_images, verify_file
from wassermix.cli.bundle import from_bundle, unpacked
from wassermix.cli.certify import in_precision
from wassermix.cli.console import say
from wassermix.cli.target import load_target, moved_target, require_model
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
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
    require_model(options, but=("data",))
    with unpacked(what) as folder:
        place = _Place(folder, what)
        try:
            return _all_verified(place, options, replay=replay)
        except InputError as error:
            raise InputError(place.text(error)) from error


@dataclass(frozen=True)
class _Place:
    """A folder that is checked, and what the user calls it: for a .zip they differ."""

    folder: Path
    name: Path

    def path(self, path: Path) -> Path:
        """A path below the folder, as the user would say it."""
        return self.name / path.relative_to(self.folder) if self.folder != self.name else path

    def text(self, words: object) -> str:
        """A sentence with the user's own name for the folder."""
        return str(words).replace(str(self.folder), str(self.name))


def _all_verified(place: _Place, options: Mapping[str, Any], *, replay: int) -> Record:
    bundle = _bundle(place) if is_bundle(place.folder) else None
    files = _tables(place.folder)
    found = []
    for path in files:
        try:
            found.append(_verified(path, options, place=place, replay=replay))
        except InputError as error:
            if len(files) == 1:
                raise
            say(f"{place.path(path)}: cannot be verified: {place.text(error)}")
            found.append({"file": place.path(path), "holds": False, "error": place.text(error)})
    holds = all(one["holds"] for one in (*found, *([] if bundle is None else [bundle])))
    return {"holds": holds, **({} if bundle is None else {"bundle": bundle}), "files": found}


def _tables(what: Path) -> list[Path]:
    """The certifications to check; a bundle may have none, where it is about attacks."""
    if not is_bundle(what):
        return find_certifications(what)
    if not any((what / "run" / "certify").glob("*.tsv")):
        say("the bundle holds no certification; attacks cannot be recomputed from their file")
        return []
    return find_certifications(what / "run")


def _bundle(place: _Place) -> Record:
    """Whether every file of a bundle is what its manifest says."""
    checked = check_bundle(place.folder)
    say(f"{place.name}: {checked.files} files, {'all as they were' if checked.holds else 'NOT as they were'}")
    for problem in checked.problems:
        say(f"  {problem}")
    told = {"files": checked.files, "holds": checked.holds, "problems": checked.problems}
    return {"folder": place.name, **told}


def _verified(path: Path, options: Mapping[str, Any], *, place: _Place, replay: int) -> Record:
    result = verify_file(path, trust=bool(options.get("trust")))
    _say_result(result, place)
    found = {"file": place.path(path), "holds": result.holds, "certificates": result.certificates}
    found["failures"] = _problems(result.failures)
    if replay:
        found["replay"] = again = _replayed(path, options, place=place, images=replay)
        found["holds"] = again["holds"] and result.holds
    return found


def _say_result(result: Verification, place: _Place) -> None:
    verdict = "all hold" if result.holds else f"{len(result.failures)} do NOT hold"
    say(f"{place.path(result.path)}: {result.certificates} certificates, {verdict}")
    _list(result.failures)


def _replayed(path: Path, options: Mapping[str, Any], *, place: _Place, images: int) -> Record:
    """Draw some images again with the model and the data that the options or the run name."""
    found = read_verifiable(path, trust=bool(options.get("trust")))
    settings = found.settings
    assert settings is not None, "a verifiable file has its parameters"
    model, samples = _certified(path, options, found.about)
    result = replay_images(in_precision(model, settings.precision), samples, found, images=images)
    say(f"{place.path(path)}: {result.statement}")
    _list(result.failures)
    _list(result.ties, note="tie: ")
    return {
        "holds": result.holds,
        "statement": result.statement,
        "images": result.replayed,
        "failures": _problems(result.failures),
        "ties": _problems(result.ties),
    }


def _certified(
    path: Path, options: Mapping[str, Any], about: Mapping[str, Any]
) -> tuple[Classifier, LabelledSamples]:
    """The model and the samples that a file is about: those of the options, of its bundle or of its run."""
    run, split = path.parent.parent, about.get("split", options.get("split", "test"))
    if options.get("model") is not None:
        foreign = load_target(run, **{**options, "split": split})
        return foreign.model, foreign.split
    if about.get("model_file"):
        raise InputError(
            f"'{path}' is about the model '{about['model_file']}', which is not the run's own; give it and "
            f"its data to draw it again, as in --model {about['model_file']} --data {about.get('data')}"
        )
    last = bool(options.get("last")) or about.get("weights") == LAST_WEIGHTS
    if is_bundle(run.parent):
        return from_bundle(run.parent, {**options, "split": split}, last=last)
    trust, data = bool(options.get("trust")), options.get("data")
    own = moved_target(run, data=data, split=split, last=last, trust=trust)
    return own.model, own.split


def _problems(problems: tuple[tuple[int, str], ...]) -> list[Record]:
    """As a record: the image's index, or null for the file as a whole, and what is wrong."""
    return [{"image": None if index < 0 else index, "problem": what} for index, what in problems]


def _list(problems: tuple[tuple[int, str], ...], *, note: str = "") -> None:
    for index, problem in problems:
        say(f"  {note}{'the file' if index < 0 else f'image {index}'}: {problem}")
