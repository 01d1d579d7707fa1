"""A data set: a function that returns a Dataset; its keyword arguments are keys of a config."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.streams import stream
from wassermix.data import Dataset, TensorSplit


def rings(*, width: float = 0.15, samples: int = 600) -> Dataset:
    """Three rings in the plane, ``samples`` to train on and half as many to test."""
    train, test = (_split(samples, width, "train"), _split(samples // 2, width, "test"))
    return Dataset(
        name="rings", train=train, test=test, num_classes=3, kind="vector", note="Made, not measured."
    )


def _split(samples: int, width: float, part: str) -> TensorSplit:
    y = torch.arange(samples) % 3
    angle = 2 * torch.pi * torch.rand(samples, generator=stream(0, "rings", part))
    radius = 1.0 + y + width * torch.randn(samples, generator=stream(0, "width", part))
    return TensorSplit(_on_circle(angle, radius), y)


def _on_circle(angle: Tensor, radius: Tensor) -> Tensor:
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
