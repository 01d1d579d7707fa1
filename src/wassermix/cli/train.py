"""``wassermix train``: a recipe and overrides to a run directory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from wassermix.cli.best import best_config
from wassermix.cli.console import counted, say, training
from wassermix.core.errors import InputError
from wassermix.engine import RunDir, TrainState, distributed, estimate_training, load_dataset, train
from wassermix.engine.run import default_name
from wassermix.engine.settings import Config, build_config, parse_value
from wassermix.recipes import read_recipe

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
    config = _config(recipe, parse_overrides(overrides), minutes=minutes, sigma=sigma, out=out, resume=resume)
    out = out or Path("runs") / default_name(config)
    if dry_run:
        cost = estimate_training(config)
        say(
            f"would take {cost.updates:,} updates, about {cost.passes:,} forward+backward passes, "
            f"{cost.minutes:.1f} minutes here"
        )
        return {"run": out, **asdict(cost), "minutes": cost.minutes}
    with distributed.process_group():
        train_with_progress(config, out, resume=resume, overwrite=overwrite)
        return {"run": out, **(_last_metrics(out) if distributed.rank() == 0 else {})}


def _config(
    recipe: str,
    overrides: dict[str, Any],
    *,
    minutes: float | None,
    sigma: float | None,
    out: Path | None,
    resume: bool,
) -> Config:
    if minutes is None:
        return build_config(read_recipe(recipe), overrides | ({} if sigma is None else {"sigma": sigma}))
    if resume and out is not None and RunDir(out).config_file.exists():
        return RunDir(out).config()  # its length was measured when it began
    return best_config(recipe, overrides, minutes=minutes, sigma=sigma)


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
        spent = f"{state.epoch} epochs, {state.updates} updates, {state.seconds:.0f} s"
        say(f"{out}: {spent}, {speed:.0f} images/s")
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
    follows = f"certify {out} --mode grid" if config.sigma else f"attack {out}"
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
