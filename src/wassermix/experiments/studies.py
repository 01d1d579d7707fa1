"""Studies: experiments that are no table of trainings, each a function that returns what it found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wassermix
from wassermix.core.errors import InputError
from wassermix.core.registry import import_object

__all__ = ["STUDIES", "Study", "draw_study", "run_study", "study_names"]

Tell = Callable[[str, float], None]
"""Called as ``tell(what is being done, share of it that is done)``."""


@dataclass(frozen=True)
class Study:
    """A named experiment: what it asks, and the function that answers, ``package.module:function``.

    The function is called as ``function(out, tell)``: ``out`` is a folder that it may fill with what lets the
    same command go on where it stopped, ``tell`` shows progress. It returns a record of plain JSON values;
    ``record["summary"]`` is a list of sentences for the terminal. ``figure``, where there is one,
    names the function that draws the picture, called as ``function(record, path)``. docs/draw_NAME.py, where
    there is one, makes pages from the record.
    """

    title: str
    function: str
    figure: str | None = None


STUDIES: dict[str, Study] = {
    "drift": Study(
        "Accuracy on unlabelled data: the plan beside its rivals on known shifts",
        "wassermix.experiments.drift.survey:run",
    ),
    "geometry": Study(
        "What known data sets look like to transport, and how entropy blurs the plan",
        "wassermix.experiments.geometries:run",
    ),
    "theory": Study(
        "The Gaussian model: every formula beside a simulation of it",
        "wassermix.theory.study:run",
        figure="wassermix.theory.figure:draw",
    ),
    "vectors": Study(
        "Optimal against random pairing on tables of vectors, beside jitter and label smoothing",
        "wassermix.experiments.vectors:run",
    ),
}
"""Name -> study; ``wassermix reproduce NAME`` writes ``results/NAME.json``, and ``NAME.svg`` for a figure."""


def study_names() -> list[str]:
    """The studies that ship with the package."""
    return sorted(STUDIES)


def run_study(name: str, out: Path, *, tell: Tell | None = None) -> dict[str, Any]:
    """Run a study and return its record, with its name, the version and the seconds that it took."""
    if name not in STUDIES:
        raise InputError(f"study '{name}' is unknown; expected one of {', '.join(study_names())}")
    study = STUDIES[name]
    began = time.monotonic()
    found = import_object(study.function, what="study")(out, tell or _silent)
    seconds = round(time.monotonic() - began, 1)
    version = wassermix.__version__
    return {"study": name, "title": study.title, "version": version, "seconds": seconds, **found}


def draw_study(record: dict[str, Any], path: Path) -> bool:
    """Write the picture of a study's record, if the study has one; whether it was written."""
    figure = STUDIES[record["study"]].figure
    if figure is None:
        return False
    import_object(figure, what="figure")(record, path)
    return True


def _silent(what: str, share: float) -> None:
    """Show nothing."""
