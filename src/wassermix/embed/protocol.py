"""What an embedding is: the space in which samples are interpolated, and the way there and back.

A new one is a subclass of :class:`Embedding` in a file of its own and a line in the registry. The engine asks
nothing else of it than what stands here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from wassermix import __version__
from wassermix.core.errors import InputError
from wassermix.core.tensors import write_tensors

__all__ = ["Embedding", "Options", "Progress"]

Progress = Callable[[int, int], None]
Options = dict[str, int | float | bool | str | None]


class Embedding(nn.Module, ABC):
    """A differentiable encoder ``phi: (n, *shape) -> (n, d)`` and decoder ``psi: (n, d) -> (n, *shape)``.

    Paths are straight lines in the latent space; classifiers see ``psi`` of them. ``fit`` must see training
    data only.
    """

    name: ClassVar[str] = "own"
    slow_to_fit: ClassVar[bool] = False
    """Whether fitting takes minutes, so that the result is kept for the next run on the same data."""

    def __init__(self) -> None:
        super().__init__()
        self.shape: tuple[int, ...] = ()

    @abstractmethod
    def encode(self, x: Tensor) -> Tensor:
        """``(n, *shape) -> (n, d)``."""

    @abstractmethod
    def decode(self, z: Tensor) -> Tensor:
        """``(n, d) -> (n, *shape)``."""

    def fit(self, x: Tensor, *, progress: Progress | None = None) -> Self:
        """Learn the embedding from training samples ``(n, *shape)``."""
        self.shape = sample_shape(x)
        return self

    def options(self) -> Options:
        """The constructor's arguments, enough to build this embedding again."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor], shape: tuple[int, ...]) -> Self:
        """Take over the tensors that ``state_dict`` gave after a fit."""
        self.shape = tuple(shape)
        for key, tensor in tensors.items():
            self.register_buffer(key, tensor)
        return self

    def reconstruct(self, x: Tensor) -> Tensor:
        """``psi(phi(x))``: what the embedding makes of a sample, the path's point at ``t = 0``."""
        return self.decode(self.encode(x))

    def save(self, path: Path) -> None:
        """Write the fitted embedding as safetensors; its name, options and shape are the metadata."""
        described = {"embedding": self.name, "options": json.dumps(self.options()), "version": __version__}
        described["shape"] = json.dumps(list(self._fitted_shape()))
        write_tensors(path, self.state_dict(), described)

    def _fitted_shape(self) -> tuple[int, ...]:
        if not self.shape:
            raise InputError(f"the embedding '{self.name}' is not fitted; call fit(x) on training samples")
        return self.shape


def sample_shape(x: Tensor) -> tuple[int, ...]:
    """The shape of one sample of ``x``, which must be a non-empty batch of finite floats."""
    if x.dim() < 2 or len(x) == 0 or not x.is_floating_point():
        raise InputError(
            f"an embedding is fitted on floats (n, ...) with n > 0; got shape {tuple(x.shape)} of {x.dtype}"
        )
    if not bool(torch.isfinite(x).all()):
        raise InputError("an embedding is fitted on finite numbers; got NaN or infinity; clean the data")
    return tuple(x.shape[1:])


def require_unit_range(x: Tensor) -> None:
    """Refuse images off the [0, 1] scale, whose decoded values would be clipped in silence."""
    if not x.numel():
        return
    low, high = float(x.min()), float(x.max())
    if is_image(tuple(x.shape[1:])) and (low < -0.1 or high > 1.1):  # resizing may overshoot a little
        raise InputError(
            f"images are expected on the scale [0, 1]; got values from {low:.3g} to {high:.3g}; divide by "
            "255, or make normalisation the model's first layer"
        )


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether samples are images ``(C, H, W)`` on [0, 1], whose decoded values are clipped to that range."""
    return len(shape) == 3
