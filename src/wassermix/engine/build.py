"""From a config to its parts: data, model, method, augmenter, regulariser, embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.augment.protocol import Augmentation
from wassermix.core.classifier import evaluating
from wassermix.core.errors import InputError
from wassermix.data import Dataset, load_data
from wassermix.data.locate import cache_folder
from wassermix.embed import Embedding, fit_cached, fit_rows, load_embedding
from wassermix.engine.settings import FAMILIES, Config, Section
from wassermix.geodesic.protocol import Regularizer
from wassermix.methods import Method, compatible
from wassermix.models import MODELS, build_model
from wassermix.models.pooled import warm_up_stages
from wassermix.models.sanity import are_probabilities
from wassermix.transport import warm_up

Progress = Callable[[int, int], None]

__all__ = ["Inputs", "Parts", "build_parts", "check_parts", "compile_ahead", "device_of", "inputs_of"]
__all__ += ["load_dataset", "make_model", "model_for"]


@dataclass
class Parts:
    """What a training is made of."""

    data: Dataset
    model: nn.Module
    method: Method
    augment: Augmentation | None
    regularizer: Regularizer | None
    embed: Embedding | None


def compile_ahead(parts: Parts) -> None:
    """Compile the kernels that a training needs, once after installation: not in the middle of a step."""
    if parts.embed is not None:
        warm_up()
    if next(parts.model.parameters()).device.type == "cpu":
        warm_up_stages(parts.model)


def build_parts(
    config: Config,
    *,
    embedding_file: Path | None = None,
    downloading: Progress | None = None,
    fitting: Progress | None = None,
) -> Parts:
    """Everything a config names, ready to train; what cannot be combined is refused here.

    ``embedding_file`` is read instead of fitting the embedding again, where it exists; ``fitting`` follows
    one that takes long.
    """
    data = load_dataset(config, downloading)
    embed = None
    if config.embed is not None:
        embed = _embedding(config, data, embedding_file, fitting)
    method, augment, regularizer = _combined(config, data, embed)
    asked = None if augment is None else Augmentation(augment)
    return Parts(data, _to_train(config, data), method, asked, regularizer, embed)


def check_parts(config: Config, data: Dataset) -> Method:
    """Refuse what :func:`build_parts` would refuse on ``data``, without fitting an embedding; the method."""
    method, _, _ = _combined(config, data, _made("embed", config.embed, {}))
    _to_train(config, data)
    return method


def _to_train(config: Config, data: Dataset) -> nn.Module:
    """A fresh model, refused where it ends in a softmax: every loss takes one of its own."""
    model = make_model(config, data)
    if config.model["name"] not in MODELS.shipped and are_probabilities(_first_outputs(model, data)):
        raise InputError(
            f"model '{config.model['name']}' gives probabilities, which sum to 1; expected logits, since "
            "every loss takes a softmax itself: remove the model's last softmax, or return the logarithm"
        )
    return model


def _combined(config: Config, data: Dataset, embed: Embedding | None) -> tuple[Method, Any, Any]:
    """Method, augmenter and regulariser, which go together and with these samples."""
    context = {"num_classes": data.num_classes, "shape": data.shape, "embed": embed}
    method: Method = _made("method", config.method, context)
    augment = _made("augment", config.augment, context)
    regularizer = _made("regularizer", config.regularizer, context)
    reason = compatible(method, augment, regularizer, shape=data.shape)
    if reason:
        raise InputError(reason)
    return method, augment, regularizer


def load_dataset(config: Config, progress: Progress | None = None) -> Dataset:
    """The data that a config names; ``progress`` follows a download where one is needed."""
    return load_data(config.data["name"], progress=progress, **_options(config.data))


def make_model(config: Config, data: Dataset) -> nn.Module:
    """A fresh model; its random start depends on the seed alone and leaves the global stream untouched."""
    model = model_for(config, inputs_of(data))
    if config.model["name"] not in MODELS.shipped:
        _try_out(config.model["name"], model, data)
    return model


@dataclass(frozen=True)
class Inputs:
    """What a model must know of its data: the shape of a sample, the classes, and how to normalise."""

    shape: tuple[int, ...]
    num_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


def inputs_of(data: Dataset) -> Inputs:
    """What a model must know of these data."""
    mean, std = data.statistics()
    return Inputs(data.shape, data.num_classes, tuple(mean), tuple(std))


def model_for(config: Config, inputs: Inputs) -> nn.Module:
    """A fresh model as :func:`make_model` gives it, from what is known of the data without having them."""
    model = build_model(
        config.model["name"],
        shape=inputs.shape,
        num_classes=inputs.num_classes,
        mean=inputs.mean,
        std=inputs.std,
        seed=config.seed,
        **_options(config.model),
    )
    return in_fast_layout(model).to(device_of(config))


@torch.no_grad()
def _first_outputs(model: nn.Module, data: Dataset) -> Tensor:
    """What a model makes of the first two samples to train on."""
    first = next(model.parameters(), torch.zeros(0))
    x = data.train.get(torch.arange(min(2, len(data.train)))).to(first.device)
    with evaluating(model):
        outputs: Tensor = model(x)
    return outputs


def _try_out(name: str, model: nn.Module, data: Dataset) -> None:
    """Refuse a model of the user's own that does not take these samples to these classes."""
    try:
        shape = tuple(_first_outputs(model, data).shape)
    except Exception as error:  # whatever the user's module raises
        raise InputError(f"model '{name}' fails on samples of shape {data.shape}: {error}") from error
    samples = min(2, len(data.train))
    if shape != (samples, data.num_classes):
        raise InputError(
            f"model '{name}' gives outputs of shape {shape} for {samples} samples; expected "
            f"({samples}, {data.num_classes}): one logit for each class"
        )


def in_fast_layout(model: nn.Module) -> nn.Module:
    """The model with channels last in memory: on CPUs its convolutions are up to twice as fast."""
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def device_of(config: Config) -> torch.device:
    """The device to train on: ``auto`` takes a GPU where there is one."""
    name = config.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device '{name}' is unknown; expected auto, cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device is cuda, but torch sees no GPU here; use device=cpu or device=auto")
    _require_usable(device)
    return device


def _require_usable(device: torch.device) -> None:
    """Refuse a device that is not there, or that holds no numbers."""
    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device '{device}' cannot be used here ({reason}); use device=cpu") from error


def _embedding(config: Config, data: Dataset, file: Path | None, fitting: Progress | None) -> Embedding:
    """The embedding, fitted on training samples only (never on held-out or test ones)."""
    embed: Embedding = _made("embed", config.embed, {})
    if not isinstance(embed, Embedding):
        raise InputError(
            f"embed: a {type(embed).__name__} is no wassermix.embed.Embedding; derive it from that"
        )
    if file is not None and file.exists():
        return load_embedding(file, embed=embed)
    if embed.slow_to_fit:
        folder = cache_folder() / "embeddings"
        return fit_cached(embed, data.train, cache=folder, seed=config.seed, progress=fitting)
    return fit_rows(embed, data.train, seed=config.seed, progress=fitting)


def _made(family: str, section: Section | None, context: dict[str, Any]) -> Any:
    """The component of a section, given those parts of the context that its constructor names."""
    if section is None:
        return None
    return FAMILIES[family].make(section["name"], _options(section), context)


def _options(section: Section) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}
