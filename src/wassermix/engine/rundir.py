"""A run directory: the config, the weights, the state to go on from, and the evaluations beside them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn

import wassermix
from wassermix.core.errors import InputError
from wassermix.core.files import write_beside, write_text
from wassermix.core.tensors import write_tensors
from wassermix.engine.settings import Config, build_config, config_hash, dump_config

__all__ = ["RunDir"]


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
        """A line an epoch."""
        return self.path / "metrics.jsonl"

    @property
    def embedding_file(self) -> Path:
        """The fitted embedding, where there is one."""
        return self.path / "embedding.safetensors"

    @property
    def augmented_file(self) -> Path:
        """The current stored augmented set, where there is one."""
        return self.path / "augmented.npz"

    def prepare(self, config: Config, *, resume: bool, overwrite: bool) -> None:
        """Make the folder for a training, or refuse: never write over another run by accident."""
        if self.config_file.exists() and not overwrite:
            if not resume:
                raise InputError(
                    f"'{self.path}' holds a run already; "
                    "add --resume to go on with it, --overwrite to begin anew, or choose another --out"
                )
            self._require_same(config)
            return
        if overwrite:
            self._clear()
        write_text(self.config_file, dump_config(config))

    def _clear(self) -> None:
        """Remove what an earlier training left: its evaluations speak of weights that will be gone."""
        files = (self.state_file, self.weights_file, self.last_weights_file, self.metrics_file)
        for file in (*files, self.augmented_file, self.embedding_file):
            file.unlink(missing_ok=True)
        for folder in ("certify", "attack", "audit", "tensorboard"):
            shutil.rmtree(self.path / folder, ignore_errors=True)

    def _require_same(self, config: Config) -> None:
        old, new = self.config().model_dump(mode="json"), config.model_dump(mode="json")
        if config_hash(self.config()) != config_hash(config):
            changed = ", ".join(key for key in new if old.get(key) != new[key])
            raise InputError(
                f"'{self.path}' was begun with other settings ({changed}); "
                "resume with the same ones, or choose another --out"
            )

    def config(self) -> Config:
        """The config that the run was trained with."""
        if not self.path.is_dir():
            raise InputError(
                f"run '{self.path}' does not exist; `wassermix train ... --out {self.path}` makes one"
            )
        if not self.config_file.exists():
            raise InputError(f"'{self.path}' is not a run directory: it has no config.yaml")
        try:
            raw = yaml.safe_load(self.config_file.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise InputError(f"'{self.config_file}' is not valid YAML: {error}") from error
        if not isinstance(raw, dict):
            raise InputError(f"'{self.config_file}' holds no settings; begin the run anew with --overwrite")
        return build_config(raw)

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
        if last and self.config().average:
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
        with safe_open(self.weights_file, framework="pt") as file:
            return file.metadata() or {}

    def save_state(self, state: dict[str, Any]) -> None:
        """Write the training state in one step."""
        write_beside(self.state_file, lambda beside: torch.save(state, beside))

    def load_state(self) -> dict[str, Any] | None:
        """The training state, or None where no epoch was finished yet; read without running code."""
        if not self.state_file.exists():
            return None
        state: dict[str, Any] = torch.load(self.state_file, map_location="cpu", weights_only=True)
        return state


def _mismatch(expected: dict[str, torch.Tensor], got: dict[str, torch.Tensor]) -> str:
    for name in [*expected, *got]:
        if name not in got:
            return f"'{name}' is missing"
        if name not in expected:
            return f"'{name}' is not part of the model"
        if expected[name].shape != got[name].shape:
            return f"'{name}' has shape {tuple(got[name].shape)}, expected {tuple(expected[name].shape)}"
    return ""
