"""What an evaluation works on: a run's model and data, or a model and data of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from wassermix.core.classifier import Classifier
from wassermix.core.errors import InputError
from wassermix.data import Dataset, Split, load_data
from wassermix.data.load import own_units
from wassermix.engine.build import Inputs, make_model, model_for
from wassermix.engine.rundir import RunDir
from wassermix.models.normalize import Normalize

__all__ = ["LAST_WEIGHTS", "Target", "find_split", "foreign_target", "run_model", "run_target"]

LAST_WEIGHTS = "last"
"""What a result's ``weights`` say where it judged those of the last update, not their average."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Target:
    """A model, the samples to judge it on, and the folder that takes the results."""

    folder: Path
    model: Classifier
    data: Dataset
    split: Split
    split_name: str
    sigma: float | None
    """The noise that the model was trained with; None where that is not known."""
    trained: float = 1.0
    """The share of its training that the model has behind it."""
    model_file: str = ""
    """The file or the factory of a model that was not trained here."""
    last: bool = False
    """Whether the weights are those of the last update, not their average."""

    @property
    def suffix(self) -> str:
        """What sets the names of its results apart from those of the run's usual weights."""
        return "-last" if self.last else ""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The box that inputs stay in: [0, 1] for images, none for vectors."""
        return (0.0, 1.0) if self.data.kind == "image" else None

    def about(self) -> dict[str, str]:
        """What a result must say of the samples it was made with."""
        note = " ".join(part for part in (self.data.note, self._unfinished()) if part)
        more = {"model_file": self.model_file} if self.model_file else {}
        if self.last:
            more["weights"] = LAST_WEIGHTS
        return {"data": self.data.name, "split": self.split_name, "note": note, **more}

    def noise(self, sigma: float | None = None) -> float:
        """The noise to certify with: what is asked for, or else the model's own."""
        if sigma is not None:
            return sigma
        if self.sigma is None:
            raise InputError("a model of your own says nothing of its noise; give it, as in --sigma 0.5")
        if not self.sigma:
            raise InputError(
                "the model was trained without noise; say which to certify with, as in --sigma 0.5"
            )
        return self.sigma

    def _unfinished(self) -> str:
        return "" if self.trained >= 1 else f"The model has done {self.trained:.0%} of its training."


def run_target(
    run: Path,
    *,
    split: str = "test",
    last: bool = False,
    trust: bool = False,
    data_name: str | None = None,
    downloading: Progress | None = None,
) -> Target:
    """A run's own model and data.

    ``last`` takes the weights of the last update where a run averages them; ``trust`` as in
    :meth:`RunDir.config`; ``data_name`` is where the run's data are found here, if not under the name that
    its config has; ``downloading`` follows a download where one is needed.
    """
    directory = RunDir(run)
    config = directory.config(trust=trust)
    if data_name is not None:
        config = config.model_copy(update={"data": {**config.data, "name": data_name}})
    data = directory.load_data(config, downloading)
    model = make_model(config, data)
    directory.load_weights(model, last=last)
    share = directory.trained_share()
    found = find_split(data, split)
    return Target(run, model.eval(), data, found, split, config.sigma, share, last=last)


def run_model(run: Path, inputs: Inputs, *, last: bool = False, trust: bool = False) -> nn.Module:
    """A run's own model, for samples of which no more than ``inputs`` is known; the rest as above."""
    directory = RunDir(run)
    model = model_for(directory.config(trust=trust), inputs)
    directory.load_weights(model, last=last)
    return model.eval()


def foreign_target(
    out: Path,
    model: str,
    *,
    data: str | None,
    weights: Path | None = None,
    mean: tuple[float, ...] = (),
    std: tuple[float, ...] = (),
    split: str = "test",
    downloading: Progress | None = None,
) -> Target:
    """A model and data of the user's own; the results go to the folder ``out``, which need not be a run.

    ``mean`` and ``std`` are a normalisation that the model expects outside: it becomes its first layer.
    """
    from wassermix.models.foreign import load_foreign_model

    if data is None:
        raise InputError("--model needs --data: a data set's name, an .npz, a .csv or an image folder")
    loaded = load_data(data, progress=downloading, **own_units(data))
    foreign = load_foreign_model(model, weights=weights, shape=loaded.shape, num_classes=loaded.num_classes)
    if mean or std:
        first = Normalize(loaded.shape, mean or None, std or None)
        foreign = nn.Sequential(first, foreign)
    return Target(out, foreign, loaded, find_split(loaded, split), split, None, model_file=_told(model))


def _told(model: str) -> str:
    """A model's file without its folder, or its factory as it is."""
    return model if ":" in model else Path(model).name


def find_split(data: Dataset, name: str) -> Split:
    """The samples to judge on: ``test``, or ``holdout`` where some were held out."""
    if name == "test":
        return data.test
    if name == "holdout" and data.holdout is not None:
        return data.holdout
    if name == "holdout":
        raise InputError(
            "this run holds nothing out; train it with data.holdout=0.1 to choose settings on that part"
        )
    raise InputError(f"--split is '{name}'; expected test or holdout")
