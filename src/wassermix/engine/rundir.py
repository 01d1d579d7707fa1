"""A run directory: the config, the weights, the state to go on from, and the evaluations beside them."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn

import wassermix
from wassermix.core.errors import InputError
from wassermix.core.files import write_beside, write_json, write_text
from wassermix.core.job import SHARDS, remove_leftovers
from wassermix.core.lock import locked
from wassermix.core.tensors import write_tensors
from wassermix.core.yaml_file import read_mapping
from wassermix.data import Dataset
from wassermix.data.load import own_units
from wassermix.engine.build import load_dataset
from wassermix.engine.data_mark import data_mark, require_same_data
from wassermix.engine.settings import Config, build_config, config_hash, dump_config, imported_code

__all__ = ["RunDir"]

EVALUATIONS = {
    **dict.fromkeys(
        ("certify", "attack", "audit", "drift"),
        ("*.json", "*.tsv", "*.svg", "*.npz", "*.log", "*.running", "*.lock", "*.part*"),
    ),
    "tensorboard": ("events.out.tfevents.*",),
}
"""Folders beside a run's own files, and what the package writes there."""
SHARDED = ("*.json", "*.tsv", "*.running", "*.lock", "*.part*")
"""What is written for the parts of a certification, in a folder for all of them."""
MARKS = {"data", "model", "method", "seed"}
"""Keys by which a config.yaml shows itself as a run's."""
STATE = {"progress", "model", "optimizer", "config"}


@dataclass(frozen=True)
class RunDir:
    """The files of one run, by name; design and contents are the same for every command."""

    path: Path

    @property
    def config_file(self) -> Path:
        """The resolved config."""
        return self.path / "config.yaml"

    @property
    def weights_file(self) -> Path:
        """The bare weights: the moving average where one was kept."""
        return self.path / "model.safetensors"

    @property
    def last_weights_file(self) -> Path:
        """The weights of the last update, beside a moving average."""
        return self.path / "last.safetensors"

    @property
    def state_file(self) -> Path:
        """All that is needed to go on training."""
        return self.path / "state.pt"

    @property
    def metrics_file(self) -> Path:
        """One line per epoch."""
        return self.path / "metrics.jsonl"

    @property
    def data_file(self) -> Path:
        """What is remembered of the samples: counts, labels, a number for some of them."""
        return self.path / "data.json"

    @property
    def embedding_file(self) -> Path:
        """The fitted embedding, where there is one."""
        return self.path / "embedding.safetensors"

    @property
    def augmented_file(self) -> Path:
        """The current stored augmented set, where there is one."""
        return self.path / "augmented.npz"

    @contextmanager
    def claimed(self, config: Config, *, resume: bool, overwrite: bool) -> Iterator[None]:
        """Hold the folder for one training of ``config``, or refuse; nothing is changed yet.

        Refused are a folder that another training is working in, a run that exists where neither ``resume``
        nor ``overwrite`` is said, a run that was begun with other settings, and files of a run whose config
        is gone.
        """
        if resume and overwrite:
            raise InputError("--resume goes on and --overwrite begins anew; give one of them")
        if self.path.resolve() == Path.cwd() and not self.config_file.exists():
            raise InputError("the run directory is the current folder; give --out a name of its own")
        try:
            with locked(self.path / "train.lock", f"the run '{self.path}'"):
                remove_leftovers(self.path)
                self._require_fit(config, resume=resume, overwrite=overwrite)
                yield
        finally:
            if self.path.is_dir() and not any(self.path.iterdir()):
                self.path.rmdir()  # made for the lock alone

    def begin(self, config: Config, *, resume: bool = False, overwrite: bool = False) -> None:
        """Write the config of a new run; with ``overwrite`` remove first what an earlier one wrote.

        So is what a run left that never learnt anything, unless it is to be gone on with.
        """
        if self.config_file.exists() and (overwrite or (self._is_untrained and not resume)):
            self._clear()
        if not self.config_file.exists():
            write_text(self.config_file, dump_config(config))

    def remember(self, data: Dataset) -> None:
        """Keep a mark of the samples before the first update; later refuse others."""
        require_same_data(self.data_file, data, run=self.path)
        if not self.data_file.exists() and not self.state_file.exists():
            write_json(self.data_file, data_mark(data))

    def load_data(self, config: Config, progress: Callable[[int, int], None] | None = None) -> Dataset:
        """The data that ``config`` names, refused where they are not those of the training."""
        data = load_dataset(config, progress)
        require_same_data(self.data_file, data, run=self.path)
        return data

    def _require_fit(self, config: Config, *, resume: bool, overwrite: bool) -> None:
        if not self.config_file.exists():
            stray = next((file for file in self._own_files if file.exists()), None)
            if stray is not None:
                raise InputError(
                    f"'{stray}' is there without the config.yaml of its run; "
                    "remove it, or choose another --out"
                )
        elif overwrite:
            if not self.stored().keys() >= MARKS:
                raise InputError(
                    f"'{self.config_file}' is not that of a wassermix run; nothing was removed; "
                    "choose another --out"
                )
        elif resume:
            self._require_same(config)
            self._require_state()
        elif not self._is_untrained:
            raise InputError(
                f"'{self.path}' holds a run already; "
                "add --resume to go on with it, --overwrite to begin anew, or choose another --out"
            )

    def _require_state(self) -> None:
        """Refuse to begin anew, in the name of going on, over weights that took more than one epoch.

        A training killed while it closed its first epoch has weights, one line of metrics and no state yet.
        """
        if self.state_file.exists() or not self.weights_file.exists():
            return
        judged = any(any((self.path / name).glob("*")) for name in EVALUATIONS if name != "tensorboard")
        if judged or not self.metrics_file.exists() or self.metrics_file.read_text().count("\n") > 1:
            raise InputError(
                f"'{self.path}' has weights but no {self.state_file.name} to go on from (an ensemble has "
                "none: resume its members); --overwrite begins anew and removes its weights and results"
            )

    @property
    def _own_files(self) -> tuple[Path, ...]:
        weights = (self.weights_file, self.last_weights_file)
        more = (self.metrics_file, self.data_file, self.augmented_file, self.embedding_file)
        return (self.state_file, *weights, *more)

    @property
    def _is_untrained(self) -> bool:
        """Whether a run was begun here, but refused or killed before anything was learnt."""
        kept = (self.state_file, self.weights_file, self.metrics_file)
        return not any(file.exists() for file in kept) and self.stored().keys() >= MARKS

    def _clear(self) -> None:
        """Remove what an earlier training left: its evaluations speak of weights that will be gone."""
        for file in (*self._own_files, self.config_file):
            file.unlink(missing_ok=True)
        for folder in self.path.glob(f"certify/*{SHARDS}"):
            _empty(folder, SHARDED)
        for name, patterns in EVALUATIONS.items():
            _empty(self.path / name, patterns)

    def _require_same(self, config: Config) -> None:
        stored, new = self.stored(), config.model_dump(mode="json")
        old = stored
        if set(imported_code(stored)) <= set(imported_code(new)):  # else it is another config anyway
            old = build_config(stored).model_dump(mode="json")
        if config_hash(old) != config_hash(new):
            changed = ", ".join(key for key in new if old.get(key) != new[key])
            raise InputError(
                f"'{self.path}' was begun with other settings ({changed}); "
                "resume with the same ones, or choose another --out"
            )

    def config(self, *, trust: bool = False) -> Config:
        """The config that the run was trained with.

        Where it names components as ``package.module:object``, reading it would import them: that needs
        ``trust``, for a run directory may come from anyone.
        """
        return build_config(self.stored(), trust=trust, where=f"'{self.config_file}'")

    def stored(self) -> dict[str, Any]:
        """What config.yaml says, unchecked."""
        if self.path.is_file():
            raise InputError(f"'{self.path}' is a file; expected the folder of a run")
        if not self.path.is_dir():
            raise InputError(
                f"run '{self.path}' does not exist; `wassermix train ... --out {self.path}` makes one"
            )
        if not self.config_file.exists():
            raise InputError(f"'{self.path}' is not a run directory: it has no config.yaml")
        return _as_trained(read_mapping(self.config_file, "the config"))

    def copy_training(self, folder: Path) -> None:
        """Make ``folder`` a run directory with this training, whole or not at all; evaluations stay here."""
        beside = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(beside, ignore_errors=True)  # of a copy that was killed
        beside.mkdir(parents=True)
        for file in (*self._own_files, self.config_file):
            if file.exists():
                shutil.copy2(file, beside / file.name)
        beside.rename(folder)

    def save_weights(
        self, model: nn.Module, config: Config, *, trained: float, file: Path | None = None
    ) -> None:
        """Write the bare weights with version, architecture, config hash and the share of training done."""
        metadata = {
            "wassermix": wassermix.__version__,
            "architecture": json.dumps(config.model, sort_keys=True),
            "config": config_hash(config),
            "trained": repr(trained),
        }
        write_tensors(file or self.weights_file, model.state_dict(), metadata)

    def load_weights(self, model: nn.Module, *, last: bool = False) -> None:
        """Fill ``model`` with the run's weights; those of another architecture are refused.

        Of a run with a moving average this is the average, or with ``last`` what the last update left.
        """
        file = self.weights_file
        if last and self.stored().get("average"):
            file = self.last_weights_file
        if not file.exists():
            raise InputError(f"'{self.path}' has no {file.name} yet; finish its training with --resume")
        try:
            tensors = load_file(file)
        except SafetensorError as error:
            raise InputError(f"'{file}' is not a whole safetensors file: {error}") from error
        wrong = _mismatch(model.state_dict(), tensors)
        if wrong:
            raise InputError(
                f"'{file}' holds the weights of another architecture "
                f"({self._architecture()}): {wrong}; the config's model does not fit them"
            )
        model.load_state_dict(tensors)

    def trained_share(self) -> float:
        """The share of its training that the weights have behind them; 1 where they do not say."""
        return float(self._metadata().get("trained", 1.0))

    def _architecture(self) -> str:
        return str(self._metadata().get("architecture", "unknown"))

    def _metadata(self) -> dict[str, str]:
        try:
            with safe_open(self.weights_file, framework="pt") as file:
                return file.metadata() or {}
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"'{self.weights_file}' is not a whole safetensors file ({error}); train the run again"
            ) from error

    def save_state(self, state: dict[str, Any]) -> None:
        """Write the training state, atomically, with the hash of the config that it belongs to."""
        content = io.BytesIO()
        torch.save({**state, "config": self._begun_as()}, content)
        write_beside(self.state_file, lambda beside: beside.write_bytes(content.getbuffer()))

    def load_state(self, config: Config | None = None) -> dict[str, Any] | None:
        """The training state, or None where no epoch was finished yet; read without running code.

        A state goes with what config.yaml says, word for word, whatever options came later; or with
        ``config``, that file with today's defaults, by which earlier versions named a state.
        """
        if not self.state_file.exists():
            return None
        try:
            state = torch.load(self.state_file, map_location="cpu", weights_only=True)
        except Exception as error:  # of many kinds, by what is wrong with the file
            raise InputError(self._no_state(f"it cannot be read ({type(error).__name__})")) from error
        if not isinstance(state, dict) or not state.keys() >= STATE:
            raise InputError(self._no_state("it holds something else"))
        if state["config"] not in (self._begun_as(), None if config is None else config_hash(config)):
            raise InputError(self._no_state("it was written with other settings than config.yaml says"))
        return state

    def _begun_as(self) -> str:
        """The hash of what config.yaml says, without defaults that are newer than the run."""
        return config_hash(read_mapping(self.config_file, "the config"))

    def _no_state(self, reason: str) -> str:
        return (
            f"'{self.state_file}' is not the training state of this run: {reason}; "
            "begin anew with --overwrite, or choose another --out"
        )


def _as_trained(raw: dict[str, Any]) -> dict[str, Any]:
    """The config of a run that was trained before tables were standardised, with that said."""
    data = raw.get("data")
    if isinstance(data, dict) and "name" in data:
        raw["data"] = {**own_units(data["name"]), **data}
    return raw


def _empty(folder: Path, patterns: Iterable[str]) -> None:
    """Remove the files of these patterns, and the folder if nothing else is in it."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for file in [file for pattern in patterns for file in folder.glob(pattern)]:
        file.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _mismatch(expected: dict[str, torch.Tensor], got: dict[str, torch.Tensor]) -> str:
    for name in [*expected, *got]:
        if name not in got:
            return f"'{name}' is missing"
        if name not in expected:
            return f"'{name}' is not part of the model"
        if expected[name].shape != got[name].shape:
            return f"'{name}' has shape {tuple(got[name].shape)}, expected {tuple(expected[name].shape)}"
    return ""
