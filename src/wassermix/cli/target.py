"""What an evaluation command works on: a run's model and data, or a model and data of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wassermix.cli.console import counted, say
from wassermix.core.errors import InputError
from wassermix.core.processes import from_first
from wassermix.core.samples import evenly_spaced
from wassermix.engine.ensemble import save_ensemble
from wassermix.engine.target import Target, foreign_target, run_target
from wassermix.models.sanity import model_warnings

__all__ = ["Target", "as_one", "load_target", "sample_indices"]


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
    to import is refused unless ``trust`` says that it may.
    """
    if model is not None and last:
        raise InputError("--last is for the weights of a run; with --model leave it out")
    with counted("downloading") as downloading:
        if model is not None:
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
        target = run_target(run, split=split, last=last, trust=trust, downloading=downloading)
    if target.trained < 1:
        say(
            f"note: '{run}' has done {target.trained:.0%} of its training, and is judged as it is; "
            "`wassermix train ... --resume` finishes it"
        )
    return target


def _warn(target: Target) -> None:
    """Say what seems wrong between a model of others and the data, before hours are spent on it."""
    mean, std = target.data.statistics()
    for sentence in model_warnings(target.model, target.split, mean=mean, std=std):
        say(f"note: {sentence}")


def as_one(
    runs: Sequence[Path],
    *,
    consensus: int = 0,
    last: bool = False,
    overwrite: bool = False,
    trust: bool = False,
) -> Path:
    """The run to judge: the only one given, or the ensemble of several, saved beside the first.

    Its name says the members, ``-k2`` for a consensus of two, and ``-last`` for the members' last weights.
    Of several processes one saves it, and the others wait for that.
    """
    if len(runs) == 1:
        if consensus:
            raise InputError("--consensus is for an ensemble; give several runs")
        return runs[0]
    out = runs[0].parent / _ensemble_name(runs, consensus, last=last)

    def save() -> None:
        save_ensemble(runs, out, consensus=consensus, last=last, overwrite=overwrite, trust=trust)

    from_first(save)
    say(f"{out}: the mean of {len(runs)} networks, a run directory like any other")
    return out


def _ensemble_name(runs: Sequence[Path], consensus: int, *, last: bool) -> str:
    members = "+".join(run.name for run in runs)
    return f"ensemble-{members}" + (f"-k{consensus}" if consensus else "") + ("-last" if last else "")


def sample_indices(target: Target, images: str) -> list[int]:
    """The samples to judge, evenly spaced over the split: ``500`` of 10,000 is every 20th."""
    total = len(target.split)
    if images != "all" and not (images.isdigit() and int(images) > 0):
        raise InputError(f"--images is '{images}'; expected a positive whole number or 'all'")
    return evenly_spaced(total, None if images == "all" else int(images))
