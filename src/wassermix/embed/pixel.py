"""The two embeddings that keep every coordinate: the samples themselves, and standardised columns."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from wassermix.embed.protocol import Embedding, Progress, sample_shape

__all__ = ["Pixel", "Standard"]


class Pixel(Embedding):
    """The sample itself, flattened: geodesics in data space."""

    name = "pixel"

    def encode(self, x: Tensor) -> Tensor:
        """``(n, *shape) -> (n, d)`` by flattening."""
        return x.reshape(len(x), -1)

    def decode(self, z: Tensor) -> Tensor:
        """``(n, d) -> (n, *shape)`` by unflattening."""
        return z.reshape(len(z), *self._fitted_shape())


ROUNDING = 1e-7
"""The least deviation of a column, as a share of its values, that is no rounding."""


class Standard(Embedding):
    """Each column with mean 0 and variance 1: for tables, whose units would else decide the transport."""

    name = "standard"
    mean: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.empty(0))
        self.register_buffer("scale", torch.empty(0))

    def fit(self, x: Tensor, *, progress: Progress | None = None) -> Self:
        """Mean and standard deviation of each column; a constant column keeps its scale."""
        self.shape = sample_shape(x)
        flat = x.reshape(len(x), -1).double()
        mean, deviation = flat.mean(dim=0), flat.std(dim=0, correction=0)
        varies = deviation > ROUNDING * (1 + mean.abs())  # rounding leaves a constant column a little
        self.mean, self.scale = mean.to(x), torch.where(varies, deviation, 1.0).to(x)
        return self

    def encode(self, x: Tensor) -> Tensor:
        """``(x - mean) / deviation``."""
        self._fitted_shape()
        return (x.reshape(len(x), -1) - self.mean) / self.scale

    def decode(self, z: Tensor) -> Tensor:
        """``mean + deviation z``."""
        return (self.mean + self.scale * z).reshape(len(z), *self._fitted_shape())
