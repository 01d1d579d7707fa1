"""``wassermix train``: a recipe and overrides to a run directory."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from wassermix.cli.best import say_plan
from wassermix.cli.console import counted, say, training
from wassermix.core.errors import InputError
from wassermix.engine import (
    RunDir,
    TrainingCost,
    TrainState,
    distributed,
    estimate_training,
    load_dataset,
    train,
)
from wassermix.engine.plan import fit_to_minutes, plan_config
from wassermix.engine.run import default_name
from wassermix.engine.settings import Config, parse_value

__all__ = ["parse_overrides", "run_train"]


def run_train(
    recipe: str,
    overrides: Iterable[str],
    *,
    out: Path | None,
    resume: bool,
    overwrite: bool,
    dry_run: bool = False,
    minutes: float | None = None,
    sigma: float | None = None,
) -> dict[str, Any]:
    """Train and say where the run is; with ``minutes``, ``recipe`` names data for the recommended recipe.

    Returns the run's folder and the last line of its metrics, or what it would cost.
    """
    changes = _with_sigma(parse_overrides(overrides), sigma)
    with distributed.process_group():
        with counted("downloading") as downloading:
            config = plan_config(recipe, changes, timed=minutes is not None, downloading=downloading)
        out, cost = out or Path("runs") / default_name(config), None
        if minutes is not None:  # a run that is there keeps its length, or is refused before any measuring
            plan = fit_to_minutes(config, minutes, out, keep=resume or not (overwrite or dry_run))
            say_plan(plan, minutes)
            config, cost = plan.config, plan.cost
        if dry_run:
            return {"run": out, **_told(cost or estimate_training(config))}
        train_with_progress(config, out, resume=resume, overwrite=overwrite)
        return {"run": out, **(_last_metrics(out) if distributed.rank() == 0 else {})}


def _with_sigma(overrides: dict[str, Any], sigma: float | None) -> dict[str, Any]:
    if sigma is None:
        return overrides
    if twice := overrides.keys() & {"sigma", "method.sigma"}:
        raise InputError(f"--sigma and {min(twice)}= both set the noise; give one of them")
    return {**overrides, "sigma": sigma}


def _told(cost: TrainingCost) -> dict[str, Any]:
    """What a training would cost, said and as a record."""
    if distributed.rank() == 0:
        say(
            f"would take {cost.updates:,} updates, about {cost.passes:,} forward+backward passes, "
            f"{cost.minutes:.1f} minutes here"
        )
    return {**asdict(cost), "minutes": cost.minutes}


def train_with_progress(
    config: Config, out: Path, *, resume: bool = False, overwrite: bool = False
) -> TrainState:
    """Train under a progress bar and print one line at the end."""
    with ExitStack() as bars:
        state = train(
            config,
            out,
            resume=resume,
            overwrite=overwrite,
            downloading=bars.enter_context(counted("downloading")),
            fitting=bars.enter_context(counted("fitting the embedding")),
            progress=bars.enter_context(training(f"training {out.name}")),
        )
    if distributed.rank() == 0:
        speed = state.images / max(state.seconds, 1e-9)
        epochs = "1 epoch" if state.epoch == 1 else f"{state.epoch} epochs"
        say(f"{out}: {epochs}, {state.updates} updates, {state.seconds:.0f} s, {speed:.0f} samples/s")
        last = _last_metrics(out)
        if "reconstruction_error" in last:
            loss = last["reconstruction_error"]
            say(f"the embedding loses {loss:.2g} (mean squared error per coordinate)")
        _say_what_next(config, out, last)
    return state


def _last_metrics(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RunDir(out).metrics_file.read_text().splitlines()[-1])
    return found


def _say_what_next(config: Config, out: Path, last: Mapping[str, Any]) -> None:
    """How well it went at a glance, what the data are, and the command that usually follows."""
    if "accuracy" in last:
        noise = f" under noise {config.sigma:g}" if config.sigma else ""
        some = last.get("accuracy_on", "some")
        say(f"accuracy{noise}, a quick look at {some} samples: {last['accuracy']:.1%}")
    data = load_dataset(config)
    say(f"{len(data.train):,} samples to train on, {len(data.test):,} to test. {data.note}".rstrip())
    folder = shlex.quote(str(out))
    follows = f"certify {folder} --mode grid" if config.sigma else f"attack {folder}"
    say(f"next: wassermix {follows}")


def parse_overrides(words: Iterable[str]) -> dict[str, Any]:
    """``key=value`` words as a mapping; a word without ``=`` is refused."""
    overrides = {}
    for word in words:
        key, found, value = word.partition("=")
        if not found or not key:
            raise InputError(f"'{word}' is not of the form key=value, such as epochs=20 or augment.ratio=2")
        try:
            overrides[key] = parse_value(value)
        except (yaml.YAMLError, InputError) as error:
            raise InputError(f"the value of '{word}' cannot be read: {error}") from error
    return overrides
