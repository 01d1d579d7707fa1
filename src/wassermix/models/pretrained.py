"""An image classifier that the library transformers saved: ``transformers:DIR``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize

__all__ = ["PREFIX", "load_pretrained"]

PREFIX = "transformers:"


class PretrainedModel(nn.Module):
    """Samples on [0,1], normalised as the saved preprocessor says, to the classifier's logits."""

    def __init__(self, network: nn.Module, normalize: nn.Module) -> None:
        super().__init__()
        self.normalize, self.network = normalize, network

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(n, k)``."""
        logits: Tensor = self.network(pixel_values=self.normalize(x)).logits
        return logits


def load_pretrained(name: str, *, shape: tuple[int, ...]) -> nn.Module:
    """The classifier in the folder behind ``transformers:``; safetensors only, none of its code is run."""
    folder = Path(name.removeprefix(PREFIX))
    if not (folder / "config.json").is_file():
        raise InputError(
            f"model '{name}': '{folder}' holds no config.json; expected a folder that save_pretrained wrote"
        )
    network = _network(folder, name)
    wanted = getattr(network.config, "image_size", None)
    size = tuple(wanted) if isinstance(wanted, list | tuple) else (wanted, wanted)
    if wanted is not None and size != tuple(shape[1:]):
        raise InputError(
            f"model '{name}' takes images of {size[0]}x{size[1]}, the data have {shape[1]}x{shape[2]}; "
            "resize the data to the model's size first"
        )
    mean, std = _statistics(folder / "preprocessor_config.json")
    return PretrainedModel(network, Normalize(shape, mean, std))


def _network(folder: Path, name: str) -> Any:
    try:
        from transformers import AutoModelForImageClassification
    except ImportError as error:
        raise InputError(
            f"model '{name}' needs transformers, which is not installed; pip install transformers"
        ) from error
    try:
        network = AutoModelForImageClassification.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
        )
    except Exception as error:  # transformers raises many kinds for a folder that is off
        raise InputError(f"model '{name}' cannot be loaded: {str(error).splitlines()[0]}") from error
    return network


def _statistics(path: Path) -> tuple[list[float] | None, list[float] | None]:
    """Mean and deviation of the saved preprocessor, which works on pixels that were divided by 255."""
    if not path.is_file():
        return None, None
    said = json.loads(path.read_text(encoding="utf-8"))
    if not said.get("do_normalize", True):
        return None, None
    return said.get("image_mean"), said.get("image_std")
