"""What an evaluation command works on: a run's model and data, or a model and data of the user's own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wassermix.cli.console import counted, say
from wassermix.core.errors import InputError
from wassermix.core.processes import from_first
from wassermix.core.samples import evenly_spaced
from wassermix.engine.ensemble import gather, require_different, save_ensemble
from wassermix.engine.target import Target, foreign_target, run_target
from wassermix.models.ensemble import Ensemble
from wassermix.models.sanity import model_warnings

__all__ = [
    "Target",
    "as_one",
    "joined_target",
    "judged_target",
    "load_target",
    "moved_target",
    "require_model",
    "sample_indices",
]

FOR_MODEL = ("data", "weights", "mean", "std")
"""Options that say something of the model given with ``--model``."""
LONGEST = 200
"""Bytes of an ensemble's members in its folder's name; file systems take 255 in all."""


def load_target(
    run: Path,
    *,
    model: str | None = None,
    weights: Path | None = None,
    data: str | None = None,
    mean: tuple[float, ...] = (),
    std: tuple[float, ...] = (),
    split: str = "test",
    last: bool = False,
    trust: bool = False,
) -> Target:
    """The target of an evaluation; with ``model`` the folder ``run`` need not be a run directory.

    ``last`` takes the weights of the last update where a run averages them. A run whose config names code
    to import is refused unless ``trust`` says that it may. Without ``model`` a run's own data are taken,
    whatever ``data`` says.
    """
    if model is not None and last:
        raise InputError("--last is for the weights of a run; with --model leave it out")
    if model is None:
        return moved_target(run, split=split, last=last, trust=trust)
    with counted("downloading") as downloading:
        foreign = foreign_target(
            run,
            model,
            data=data,
            weights=weights,
            mean=mean,
            std=std,
            split=split,
            downloading=downloading,
        )
    _warn(foreign)
    return foreign


def moved_target(
    run: Path, *, data: str | None = None, split: str = "test", last: bool = False, trust: bool = False
) -> Target:
    """A run's own model and data; ``data`` is where these are found here, if not where its config says."""
    with counted("downloading") as downloading:
        target = run_target(run, split=split, last=last, trust=trust, data_name=data, downloading=downloading)
    _note_unfinished(target)
    return target


def _note_unfinished(target: Target) -> None:
    if target.trained < 1:
        least, finish = ("a member of ", "its members first") if _is_mean(target) else ("", "it")
        say(
            f"note: {least}'{target.folder}' has done {target.trained:.0%} of its training, and is judged as "
            f"it is; `wassermix train ... --resume` finishes {finish}"
        )


def _is_mean(target: Target) -> bool:
    return isinstance(target.model, Ensemble)


def judged_target(run: Path, options: Mapping[str, Any]) -> Target:
    """The target that a command's options name; those that go with ``--model`` are refused without it."""
    require_model(options)
    return load_target(run, **options)


def require_model(options: Mapping[str, Any], *, but: Sequence[str] = ()) -> None:
    """Refuse options that say something of a model of the user's own where none is given."""
    unused = [name for name in FOR_MODEL if options.get(name) and name not in but]
    if unused and options.get("model") is None:
        raise InputError(
            f"--{unused[0]} goes with --model; a run is judged with its own weights and data: leave it out, "
            "or give the model too"
        )


def _warn(target: Target) -> None:
    """Say what seems wrong between a model of others and the data, before hours are spent on it."""
    mean, std = target.data.statistics()
    for sentence in model_warnings(target.model, target.split, mean=mean, std=std):
        say(f"note: {sentence}")


def joined_target(
    runs: Sequence[Path],
    options: Mapping[str, Any],
    *,
    consensus: int = 0,
    overwrite: bool = False,
    dry_run: bool = False,
) -> Target:
    """What one or several runs are judged as: see :func:`as_one`; a dry run does not save an ensemble."""
    require_model(options)  # before an ensemble is saved
    kept: dict[str, Any] = {key: options.get(key) for key in ("last", "trust", "model")}
    if dry_run and len(runs) > 1:
        return _unsaved(runs, consensus=consensus, split=options.get("split", "test"), **kept)
    return load_target(as_one(runs, consensus=consensus, overwrite=overwrite, **kept), **options)


def _unsaved(
    runs: Sequence[Path], *, consensus: int, split: str, last: bool, trust: bool, model: str | None
) -> Target:
    """The ensemble of several runs, with the folder that it would have."""
    folder = _ensemble_folder(runs, consensus, last=last, model=model)
    target = gather(runs, consensus=consensus, last=last, trust=trust).target(folder, split, last=last)
    say(f"the mean of {len(runs)} networks, which would be saved as {folder}")
    _note_unfinished(target)
    return target


def as_one(
    runs: Sequence[Path],
    *,
    consensus: int = 0,
    last: bool = False,
    overwrite: bool = False,
    trust: bool = False,
    model: str | None = None,
) -> Path:
    """The run to judge: the only one given, or the ensemble of several, saved beside the first.

    Its name says the members, ``-k2`` for a consensus of two, and ``-last`` for the members' last weights.
    Of several processes one saves it, and the others wait for that. With ``model``, one of the user's own,
    there is one folder for its results, and several are refused.
    """
    if len(runs) == 1:
        if consensus:
            raise InputError("--consensus is for an ensemble; give several runs")
        return runs[0]
    out = _ensemble_folder(runs, consensus, last=last, model=model)

    def save() -> None:
        save_ensemble(runs, out, consensus=consensus, last=last, overwrite=overwrite, trust=trust)

    from_first(save)
    say(f"{out}: the mean of {len(runs)} networks, a run directory like any other")
    return out


def _ensemble_folder(runs: Sequence[Path], consensus: int, *, last: bool, model: str | None) -> Path:
    """Beside the first run; too many names become their number and a hash of them."""
    if model is not None:
        raise InputError(
            f"--model judges one model, and {len(runs)} folders were given; expected one, for its results"
        )
    require_different(runs)
    members = "+".join(_told_apart(runs))
    if len(os.fsencode(members)) > LONGEST:
        members = f"{len(runs)}-runs-{hashlib.sha256(os.fsencode(members)).hexdigest()[:12]}"
    marks = (f"-k{consensus}" if consensus else "") + ("-last" if last else "")
    named = runs[0] if runs[0].name not in ("", "..") else Path(os.path.abspath(runs[0]))
    return named.parent / f"ensemble-{members}{marks}"


def _told_apart(runs: Sequence[Path]) -> list[str]:
    """The runs' names, with as many folders before them as it takes to tell them apart: ``mnist.a``."""
    parts = [Path(os.path.abspath(run)).parts for run in runs]
    depth = 1
    while len({one[-depth:] for one in parts}) < len(runs):
        depth += 1
    return [".".join(one[-depth:]).strip("/.") for one in parts]


def sample_indices(target: Target, images: str) -> list[int]:
    """The samples to judge, evenly spaced over the split: ``500`` of 10,000 is every 20th."""
    total = len(target.split)
    if images != "all" and not (images.isdecimal() and int(images) > 0):
        raise InputError(f"--images is '{images}'; expected a positive whole number or 'all'")
    return evenly_spaced(total, None if images == "all" else int(images))
