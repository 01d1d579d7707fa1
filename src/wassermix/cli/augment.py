"""``wassermix augment``: the augmented set alone, for any other trainer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wassermix.augment import augment_to_file
from wassermix.augment.protocol import KeepsSet
from wassermix.cli.console import counted, say
from wassermix.cli.target import Target, load_target
from wassermix.cli.train import parse_overrides
from wassermix.core.errors import InputError
from wassermix.data import Dataset
from wassermix.engine import build_parts
from wassermix.engine.settings import build_config

__all__ = ["run_augment"]


def run_augment(
    data: str, overrides: Iterable[str], *, out: Path, run: Path | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Make the set; with ``run`` at the times where that run's model is worst, else at random times."""
    target = None if run is None else load_target(run)
    choice = "random" if target is None else "worst"
    base = {
        "data": {"name": data},
        "model": {"name": "mlp"},
        "method": {"name": "erm"},
        "augment": {"name": "geodesic", "choice": choice},
    }
    config = build_config(base, parse_overrides(overrides))
    if config.augment is not None and config.augment.get("choice") == "worst" and target is None:
        raise InputError("augment.choice=worst needs a model to be worst for; give one with --run RUN")
    parts = build_parts(config)
    augment = None if parts.augment is None else parts.augment.component
    if config.augment is None or not isinstance(augment, KeepsSet):
        raise InputError(
            "augment: expected the geodesic augmenter, which makes new samples; leave augment= alone"
        )
    if target is not None and _kind(target.data) != _kind(parts.data):
        raise InputError(
            f"augment: the model of '{run}' takes {_kind(target.data)}, but {data} has {_kind(parts.data)}; "
            "give data of the kind it was trained on"
        )
    with counted("augmenting") as progress:
        made = augment_to_file(
            augment,
            parts.data.train,
            out,
            model=None if target is None else target.model,
            sigma=_noise(target),
            seed=config.seed,
            overwrite=overwrite,
            progress=progress,
        )
    say(f"{out}: {len(made)} samples (x, soft y, class0, class1, t) at {config.augment['choice']} times")
    return {"file": out, "samples": len(made), "augment": config.augment}


def _kind(data: Dataset) -> str:
    return f"{data.num_classes} classes of samples {data.shape}"


def _noise(target: Target | None) -> float:
    return 0.0 if target is None or target.sigma is None else target.sigma
