"""What an evaluation command works on: a run's model and data, or a model and data of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from wassermix.cli.console import counted, say
from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.core.samples import evenly_spaced
from wassermix.data import Dataset, Split, load_data
from wassermix.data.load import own_units
from wassermix.engine import RunDir, load_dataset, make_model
from wassermix.engine.ensemble import save_ensemble

__all__ = ["Target", "as_one", "load_target", "sample_indices"]


@dataclass(frozen=True)
class Target:
    """A model, the samples to judge it on, and the folder that takes the results."""

    folder: Path
    model: Classifier
    data: Dataset
    split: Split
    split_name: str
    sigma: float | None
    trained: float = 1.0
    """The share of its training that the model has behind it."""

    def about(self) -> dict[str, str]:
        """What a result must say of the samples it was made with."""
        note = " ".join(part for part in (self.data.note, self._unfinished()) if part)
        return {"data": self.data.name, "split": self.split_name, "note": note}

    def _unfinished(self) -> str:
        return "" if self.trained >= 1 else f"The model has done {self.trained:.0%} of its training."


def load_target(
    run: Path,
    *,
    model: str | None = None,
    weights: Path | None = None,
    data: str | None = None,
    split: str = "test",
    last: bool = False,
    trust: bool = False,
) -> Target:
    """The target of an evaluation; with ``model`` the folder ``run`` need not be a run directory.

    ``last`` takes the weights of the last update where a run averages them. A run whose config names code
    to import is refused unless ``trust`` says that it may.
    """
    if model is not None:
        if data is None:
            raise InputError("--model needs --data: a data set's name, an .npz, a .csv or an image folder")
        from wassermix.models.foreign import load_foreign_model

        with counted("downloading") as downloading:
            dataset = load_data(data, progress=downloading, **own_units(data))
        foreign = load_foreign_model(
            model, weights=weights, shape=dataset.shape, num_classes=dataset.num_classes
        )
        return Target(run, foreign, dataset, _split(dataset, split), split, None)
    directory = RunDir(run)
    _require_trust(run, trust=trust)
    config = directory.config()
    with counted("downloading") as downloading:
        dataset = load_dataset(config, downloading)
    network = make_model(config, dataset)
    directory.load_weights(network, last=last)
    trained = directory.trained_share()
    if trained < 1:
        say(
            f"note: '{run}' has done {trained:.0%} of its training, and is judged as it is; "
            "`wassermix train ... --resume` finishes it"
        )
    return Target(run, network.eval(), dataset, _split(dataset, split), split, config.sigma, trained)


def as_one(runs: Sequence[Path], *, consensus: int = 0, overwrite: bool = False) -> Path:
    """The run to judge: the only one given, or the ensemble of several, saved beside the first."""
    if len(runs) == 1:
        if consensus:
            raise InputError("--consensus is for an ensemble; give several runs")
        return runs[0]
    out = runs[0].parent / f"ensemble-{'+'.join(run.name for run in runs)}"
    save_ensemble(runs, out, consensus=consensus, overwrite=overwrite)
    say(f"{out}: the mean of {len(runs)} networks, a run directory like any other")
    return out


def sample_indices(target: Target, images: str) -> list[int]:
    """The samples to judge, evenly spaced over the split: ``500`` of 10,000 is every 20th."""
    total = len(target.split)
    if images != "all" and not (images.isdigit() and int(images) > 0):
        raise InputError(f"--images is '{images}'; expected a positive whole number or 'all'")
    return evenly_spaced(total, None if images == "all" else int(images))


def _require_trust(run: Path, *, trust: bool) -> None:
    """Refuse a run whose model is ``package.module:Class`` before anything is imported."""
    try:
        raw = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        name = str(raw["model"]["name"])
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return  # what is wrong with the file is said where it is read
    if ":" in name and not trust:
        raise InputError(
            f"the run's model is '{name}': building it would import and run that code; "
            "add --trust if you trust where the run comes from"
        )


def _split(data: Dataset, name: str) -> Split:
    if name == "test":
        return data.test
    if name == "holdout" and data.holdout is not None:
        return data.holdout
    if name == "holdout":
        raise InputError(
            "this run holds nothing out; train it with data.holdout=0.1 to choose settings on that part"
        )
    raise InputError(f"--split is '{name}'; expected test or holdout")
