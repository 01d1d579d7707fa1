"""From a config to its parts: data, model, method, augmenter, regulariser, embedding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wassermix.augment import AUGMENTERS
from wassermix.config import Config, Section
from wassermix.data import Dataset, load_data
from wassermix.embed import EMBEDDINGS, fit_rows, load_embedding
from wassermix.errors import InputError
from wassermix.methods import METHODS, Method, compatible
from wassermix.models import build_model
from wassermix.regularize import REGULARIZERS
from wassermix.streams import stream_seed

__all__ = ["Parts", "build_parts", "device_of", "fit_embedding", "load_dataset", "make_model"]


@dataclass
class Parts:
    """What a training is made of."""

    data: Dataset
    model: nn.Module
    method: Method
    augment: Any
    regularizer: Any
    embed: Any


def build_parts(config: Config, *, embedding_file: Path | None = None) -> Parts:
    """Everything a config names, ready to train; what cannot be combined is refused here."""
    data = load_dataset(config)
    method = METHODS[config.method["name"]](**_options(config.method))
    embed = fit_embedding(config, data, embedding_file) if needs_embedding(config) else None
    augment = _augmenter(config.augment, data, embed)
    regularizer = (
        REGULARIZERS[config.regularizer["name"]](**_options(config.regularizer))
        if config.regularizer
        else None
    )
    reason = compatible(method, augment, regularizer)
    if reason:
        raise InputError(reason)
    return Parts(data, make_model(config, data), method, augment, regularizer, embed)


def load_dataset(config: Config) -> Dataset:
    """The data that a config names."""
    return load_data(config.data["name"], **_options(config.data))


def make_model(config: Config, data: Dataset) -> nn.Module:
    """A fresh model; its random start depends on the seed alone and leaves the global stream untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(config.seed, "init"))
        model = build_model(
            config.model["name"],
            shape=data.shape,
            num_classes=data.num_classes,
            options=_options(config.model),
        )
    return model.to(device_of(config), memory_format=torch.channels_last)


def device_of(config: Config) -> torch.device:
    """The device to train on: ``auto`` takes a GPU where there is one."""
    name = config.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def needs_embedding(config: Config) -> bool:
    """Whether anything in this config interpolates."""
    uses = config.augment is not None and config.augment["name"] in ("geodesic",)
    return uses or config.regularizer is not None


def fit_embedding(config: Config, data: Dataset, file: Path | None) -> Any:
    """The embedding, fitted on training samples only (never on held-out or test ones)."""
    if file is not None and file.exists():
        return load_embedding(file)
    section = config.embed or {"name": "pca"}
    embed = EMBEDDINGS[section["name"]](**_options(section))
    return fit_rows(embed, data.train, seed=config.seed)


def _augmenter(section: Section | None, data: Dataset, embed: Any) -> Any:
    if section is None:
        return None
    factory = AUGMENTERS[section["name"]]
    context = {"embed": embed} if section["name"] == "geodesic" else {}
    return factory(num_classes=data.num_classes, **context, **_options(section))


def _options(section: Section) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}
