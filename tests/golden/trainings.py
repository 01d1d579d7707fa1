"""The trainings: together every method, augmenter and embedding and the regulariser, a few updates each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors.numpy import load_file

from golden.workspace import Workspace

__all__ = ["JUDGED", "TRAININGS", "train", "training"]

COMMON = (
    "model=lenet",
    "batch_size=8",
    "epochs=2",
    "seed=3",
    "optimizer.lr=0.1",
    "schedule=cosine",
)
SMALL_PCA = ("embed=pca", "embed.size=8")
# Times are searched from the first update on, and pairs have the word that they had: as was recorded.
PAIRED = ("augment=geodesic", "augment.pairing=transport", "augment.warm_up=0")
GEODESIC = (*PAIRED, *SMALL_PCA)

TRAININGS: dict[str, tuple[str, ...]] = {
    # Whatever is not needed to be tiny is left to the defaults here, and here alone.
    "defaults": ("augment=geodesic", "regularizer=geodesic"),
    "erm-stored": ("method=erm", *GEODESIC, "transform.crop=1", "transform.flip=true"),
    "pgd-online": ("method=pgd", "method.steps=2", "method.eps=0.5", *GEODESIC, "augment.mode=online"),
    "trades-mixup": (
        *("method=trades", "method.norm=l2", "method.eps=0.5", "method.steps=2", "augment=mixup"),
        *("data.train_size=24", "epochs=1"),
    ),
    "augmix-kmixup": ("method=augmix", "augment=kmixup", "augment.block=4"),
    "gaussian-simplex": ("method=gaussian", "sigma=0.25", "augment=simplex", "embed=pixel"),
    "stability-cutmix": ("method=stability", "sigma=0.25", "augment=cutmix"),
    "smoothadv": ("method=smoothadv", "sigma=0.25", "method.noises=2", "method.steps=2"),
    "macer": ("method=macer", "sigma=0.25", "method.noises=4", "method.weight=1", "optimizer.lr=0.02"),
    "consistency": ("method=consistency", "sigma=0.25", "data.holdout=0.2"),
    "smoothmix-puzzlemix": (
        "method=smoothmix",
        "sigma=0.25",
        "method.noises=2",
        "method.steps=2",
        "augment=puzzlemix",
    ),
    "gaussian-manifold": ("method=gaussian", "sigma=0.25", "augment=manifold"),
    "erm-features": ("method=erm", "augment=feature-geodesic"),
    "gaussian-smooth": ("method=gaussian", "sigma=0.25", "regularizer=geodesic", "embed=pixel"),
    "gaussian-vae": (
        "method=gaussian",
        "sigma=0.25",
        *PAIRED,
        *("embed=vae", "embed.size=4", "embed.width=4", "embed.epochs=1"),
    ),
    "erm-worst-class": (
        "method=erm",
        *GEODESIC,
        "augment.labels=hard",
        "augment.max_distance=1.0",
        "augment.target_classes=2",
    ),
    "erm-random-pairs": (
        "method=erm",
        *("augment=geodesic", "augment.pairing=random", "augment.choice=random", *SMALL_PCA),
        *("augment.refresh=2", "augment.ratio=0.5"),
    ),
    "vectors": (
        *("data=gaussians", "data.train_size=64", "model=mlp", "method=gaussian", "sigma=0.25"),
        *(*PAIRED, "embed=standard"),
    ),
}
"""Name -> the words after ``train demo``, beside those that all share; a later word for a key counts.

Attacks inside a training are l2: the sign of a gradient near 0 is another one on another CPU.
"""

JUDGED = ("method=gaussian", "sigma=0.75", "epochs=6", "batch_size=16", "optimizer.lr=0.05")
"""The run that is certified, attacked and audited."""

KEPT = ("epoch", "updates", "passes", "lr", "accuracy_on")
ENTRIES = 4


def train(work: Workspace, name: str, words: tuple[str, ...]) -> Path:
    """The run directory of a training."""
    folder = work.folder / "runs" / name
    work.run("train", "demo", f"data={work.data}", *COMMON, *words, "--out", folder)
    return folder


def training(work: Workspace, name: str) -> dict[str, Any]:
    """Weights in short, the losses of each epoch, and the config with every default."""
    folder = train(work, name, TRAININGS[name])
    config = yaml.safe_load(work.anonymous((folder / "config.yaml").read_text()))
    epochs = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [{**row["loss"], **_present(row, "reconstruction_error")} for row in epochs]
    return {
        "exact": {"config": config, "epochs": [_present(row, *KEPT) for row in epochs]},
        "close": losses,
        "shares": [row["accuracy"] for row in epochs],
        "weights": {key: _short(value) for key, value in load_file(folder / "model.safetensors").items()},
    }


def _present(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: row[key] for key in keys if key in row}


def _short(tensor: np.ndarray) -> dict[str, Any]:
    """Size, mean, norm and a few evenly spaced entries."""
    flat = tensor.astype(np.float64).ravel()
    chosen = np.linspace(0, flat.size - 1, min(ENTRIES, flat.size)).round().astype(int)
    return {
        "size": flat.size,
        "mean": float(flat.mean()),
        "norm": float(np.linalg.norm(flat)),
        "entries": flat[chosen].tolist(),
    }
