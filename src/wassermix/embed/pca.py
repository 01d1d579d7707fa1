"""Principal components: the linear embedding, cheap enough to be the default."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream
from wassermix.embed.protocol import Embedding, Options, Progress, is_image, require_unit_range, sample_shape

__all__ = ["PCA"]

DENSE_LIMIT = 1200
"""Up to this many coordinates the whole covariance is diagonalised; beyond, its leading part by iteration."""


class PCA(Embedding):
    """Principal components: ``phi(x) = V (x - m)``, ``psi(z) = m + V' z``, images clipped to [0, 1].

    ``V (size, d)`` has orthonormal rows, so distances in the latent space are those of the projected samples.
    ``whiten`` divides each component by its standard deviation. ``size`` is cut to what the data can carry;
    ``PCA(64)`` is short for ``PCA(size=64)``.
    """

    name = "pca"
    mean: Tensor
    components: Tensor
    scale: Tensor

    def __init__(self, short: int | None = None, /, *, size: int = 64, whiten: bool = False) -> None:
        super().__init__()
        size = size if short is None else short
        if size < 1:
            raise InputError(f"embed.size is the number of components, at least 1; got {size}")
        self.size, self.whiten = size, whiten
        for key in ("mean", "components", "scale"):
            self.register_buffer(key, torch.empty(0))

    def options(self) -> Options:
        """``size`` and ``whiten``."""
        return {"size": self.size, "whiten": self.whiten}

    def fit(self, x: Tensor, *, progress: Progress | None = None) -> Self:
        """The leading eigenvectors of the samples' covariance."""
        self.shape = sample_shape(x)
        require_unit_range(x)
        flat = x.reshape(len(x), -1)
        self.mean = flat.mean(dim=0)
        centred = flat - self.mean
        unit = torch.exp2(centred.abs().max().clamp_min(torch.finfo(flat.dtype).tiny).log2().round())
        centred = centred / unit  # a power of two: rounds nothing, and squares stay within float32
        size = min(self.size, len(flat), flat.shape[1])
        leading = _leading if flat.shape[1] > DENSE_LIMIT and 2 * size < flat.shape[1] else _dense
        self.components, variance = leading(centred, size)
        deviation = unit * variance.clamp_min(0).sqrt()
        usable = torch.where(deviation > 0, deviation, torch.ones_like(deviation))
        self.scale = usable if self.whiten else torch.ones_like(deviation)
        return self

    def encode(self, x: Tensor) -> Tensor:
        """``V (x - m)``, ``(n, *shape) -> (n, size)``."""
        self._fitted_shape()
        return (x.reshape(len(x), -1) - self.mean) @ self.components.T / self.scale

    def decode(self, z: Tensor) -> Tensor:
        """``m + V' z``, clipped to [0, 1] where the samples are images."""
        shape = self._fitted_shape()
        x = torch.addmm(self.mean, z * self.scale, self.components)
        return (x.clamp(0, 1) if is_image(shape) else x).reshape(len(z), *shape)


def _dense(centred: Tensor, size: int) -> tuple[Tensor, Tensor]:
    covariance = (centred.T @ centred).double() / len(centred)
    values, vectors = torch.linalg.eigh(covariance)
    return _with_signs(vectors.T.flip(0)[:size].to(centred)), values.flip(0)[:size].to(centred)


def _leading(centred: Tensor, size: int, rounds: int = 8) -> tuple[Tensor, Tensor]:
    """Subspace iteration on the covariance, with ten spare directions, never forming it."""
    spare = min(size + 10, min(centred.shape))
    start = torch.randn(centred.shape[1], spare, generator=stream(0, "pca"))
    basis = torch.linalg.qr(start.to(centred)).Q
    for _ in range(rounds):
        basis = torch.linalg.qr(centred.T @ (centred @ basis)).Q
    projected = centred @ basis
    values, vectors = torch.linalg.eigh(projected.T @ projected / len(centred))
    return _with_signs((basis @ vectors).T.flip(0)[:size].contiguous()), values.flip(0)[:size]


def _with_signs(components: Tensor) -> Tensor:
    """Each component with its largest entry positive, so that a fit does not depend on the solver's sign."""
    largest = components.abs().argmax(dim=1, keepdim=True)
    return components * torch.where(components.gather(1, largest) < 0, -1.0, 1.0).to(components.dtype)
