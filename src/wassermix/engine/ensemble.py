"""Trained runs gathered into an ensemble, which is a run directory like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from wassermix.core.errors import InputError
from wassermix.core.lock import locked
from wassermix.data import Dataset
from wassermix.engine.build import load_dataset, make_model
from wassermix.engine.data_mark import require_same_data
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import Config, build_config
from wassermix.engine.target import Target, find_split
from wassermix.models.ensemble import Ensemble

__all__ = ["Gathered", "gather", "require_different", "save_ensemble"]


@dataclass(frozen=True)
class Gathered:
    """The mean of several runs' networks, not saved anywhere."""

    config: Config
    network: Ensemble
    data: Dataset
    trained: float
    """The share of its training that the least trained member has behind it."""

    def target(self, folder: Path, split: str = "test", *, last: bool = False) -> Target:
        """It as an evaluation takes it; ``last`` says that the members' weights are those of last updates."""
        samples, sigma = find_split(self.data, split), self.config.sigma
        return Target(folder, self.network.eval(), self.data, samples, split, sigma, self.trained, last=last)


def gather(runs: Sequence[Path], *, consensus: int = 0, last: bool = False, trust: bool = False) -> Gathered:
    """The mean of the runs' networks; options as in :func:`save_ensemble`."""
    require_different(runs)
    configs = [RunDir(run).config(trust=trust) for run in runs]
    _require_alike(runs, configs)
    model = {"name": "ensemble", "members": [config.model for config in configs], "consensus": consensus}
    raw = {**configs[0].model_dump(mode="json"), "model": model, "average": 0.0}
    config = build_config(raw)
    data = load_dataset(config)
    for run in runs:
        require_same_data(RunDir(run).data_file, data, run=run)
    network = make_model(config, data)
    assert isinstance(network, Ensemble)
    for run, member in zip(runs, network.members):
        RunDir(run).load_weights(member, last=last)
    return Gathered(config, network, data, min(RunDir(run).trained_share() for run in runs))


def save_ensemble(
    runs: Sequence[Path],
    out: Path,
    *,
    consensus: int = 0,
    last: bool = False,
    overwrite: bool = False,
    trust: bool = False,
) -> Config:
    """Write the mean of the runs' networks into ``out``: its config and all weights, nothing linked.

    The runs must be different ones that share data and noise; their architectures may differ. ``last`` takes
    the weights of each run's last update where it averages them. What stands in ``out`` already is left alone
    where it is this ensemble, and else refused unless ``overwrite``. ``trust`` as in :meth:`RunDir.config`.
    The first of several calls (the jobs of an array) saves it, and the others wait for that.
    """
    made = gather(runs, consensus=consensus, last=last, trust=trust)
    out.parent.mkdir(parents=True, exist_ok=True)
    with locked(out.parent / f"{out.name}.lock", f"the ensemble '{out}'", wait=PATIENCE):
        _save(made, out, overwrite=overwrite)
    return made.config


PATIENCE = 60.0
"""Seconds within which another call has written an ensemble's weights."""


def _save(made: Gathered, out: Path, *, overwrite: bool) -> None:
    target = RunDir(out)
    if target.config_file.exists() and _holds(target, made.config, made.network):
        return
    if target.config_file.exists() and target.weights_file.exists() and not overwrite:
        raise InputError(
            f"'{out}' holds another ensemble, or its members were trained anew; --overwrite replaces it and "
            "its results"
        )
    begun = not overwrite and not target.weights_file.exists()  # a call killed before it wrote them goes on
    with target.claimed(made.config, resume=begun, overwrite=overwrite):
        target.begin(made.config, resume=begun, overwrite=overwrite)
        target.save_weights(made.network, made.config, trained=made.trained)


def require_different(runs: Sequence[Path]) -> None:
    """Refuse a run that is given twice, by whatever path: it would count for two among the members."""
    seen: set[Path] = set()
    for run in runs:
        if run.resolve() in seen:
            raise InputError(f"'{run}' is given twice; expected different runs")
        seen.add(run.resolve())


def _require_alike(runs: Sequence[Path], configs: Sequence[Config]) -> None:
    for run, config in zip(runs, configs):
        if (config.data, config.sigma) != (configs[0].data, configs[0].sigma):
            raise InputError(
                f"'{run}' and '{runs[0]}' were trained on other data or with other noise; expected runs of "
                "one data section and one sigma: an ensemble is certified with its members' own noise"
            )


def _holds(target: RunDir, config: Config, network: Ensemble) -> bool:
    """Whether the folder has this very ensemble."""
    if target.stored().get("model") != config.model or not target.weights_file.exists():
        return False
    stored, wanted = load_file(target.weights_file), network.state_dict()
    return stored.keys() == wanted.keys() and all(torch.equal(stored[k], wanted[k].cpu()) for k in wanted)
