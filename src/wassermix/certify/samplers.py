"""The samplers: noisy copies of an image, by integers on its grid or by floating point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from wassermix.certify.discrete import clip_margin, grid_of, lies_on, rounded_gaussian
from wassermix.certify.noise import NoiseKey, gaussian
from wassermix.certify.settings import BLOCK, FORMER_SAMPLER, CertifySettings
from wassermix.core.errors import InputError
from wassermix.core.streams import stream_seed

__all__ = ["Sampler", "make_sampler", "resolve_sampler", "what_is_certified"]


class Sampler(Protocol):
    """Fills a block of rows with noisy copies of one image; a function of the key alone."""

    def fill(self, key: NoiseKey, x: Tensor, rows: Tensor) -> None:
        """Noisy copies of ``x (...)`` into ``rows (128, ...)``."""


def resolve_sampler(settings: CertifySettings, x: Tensor) -> CertifySettings:
    """Settings that say which sampler is used, and on which grid, for images like ``x (m, ...)``."""
    if settings.sampler not in ("auto", "exact"):
        return settings
    grid = settings.grid or grid_of(x)
    if grid:
        return replace(settings, sampler="exact", grid=grid)
    if settings.sampler == "exact":
        raise InputError(
            "certify: the exact sampler needs images on a grid, values k/255 or k/65535 in [0, 1], and these "
            "are on none; use --sampler gaussian"
        )
    return replace(settings, sampler="gaussian")


def make_sampler(settings: CertifySettings, shape: Sequence[int], rows: Tensor) -> Sampler:
    """The sampler that resolved settings name, for images of ``shape`` and a batch like ``rows``."""
    assert settings.sampler != "auto", "settings are resolved first"
    if settings.sampler == "exact":
        return _Exact(settings, shape, rows)
    noise = torch.empty((BLOCK, *shape), dtype=rows.dtype, device=rows.device)
    return (_Former if settings.sampler == FORMER_SAMPLER else _Gaussian)(settings.sigma, noise)


def what_is_certified(settings: CertifySettings) -> str:
    """The end of a statement: which classifier it speaks of, where that is not the model itself."""
    if settings.sampler != "exact":
        return ""
    margin = clip_margin(settings.sigma, settings.grid) / settings.grid
    return (
        f"; they hold for inputs with values k/{settings.grid} in [0, 1] and for the classifier that "
        f"rounds to this grid, clips to [{-margin:.6g}, {1 + margin:.6g}] and asks the model"
    )


class _Gaussian:
    """``x + sigma * noise`` in floating point: Gaussian up to rounding."""

    def __init__(self, sigma: float, noise: Tensor) -> None:
        self.sigma, self.noise = sigma, noise

    def fill(self, key: NoiseKey, x: Tensor, rows: Tensor) -> None:
        self.draw(key)
        torch.add(x.to(self.noise), self.noise, alpha=self.sigma, out=rows)

    def draw(self, key: NoiseKey) -> None:
        gaussian(key, self.noise)


class _Former(_Gaussian):
    """The noise of earlier versions."""

    def draw(self, key: NoiseKey) -> None:
        seed = stream_seed(key.seed, "certify", key.purpose, key.index, key.block)
        self.noise.normal_(generator=torch.Generator(device=self.noise.device).manual_seed(seed))


class _Exact:
    """Integer noise on the grid; drawn on the CPU, whatever device runs the model."""

    def __init__(self, settings: CertifySettings, shape: Sequence[int], rows: Tensor) -> None:
        self.law = rounded_gaussian(settings.sigma, settings.grid)
        layout = torch.channels_last if len(shape) == 3 else torch.contiguous_format
        host = torch.empty((BLOCK, *shape), dtype=rows.dtype, memory_format=layout)
        self.host = None if rows.device.type == "cpu" else host
        self.checked = -1

    def fill(self, key: NoiseKey, x: Tensor, rows: Tensor) -> None:
        if key.index != self.checked:
            self._check(key.index, x)
        if self.host is None:
            self.law.fill(key, x, rows)
        else:
            self.law.fill(key, x, self.host)
            rows.copy_(self.host)

    def _check(self, index: int, x: Tensor) -> None:
        if not lies_on(x, self.law.levels):
            raise InputError(
                f"certify: image {index} has values that are not k/{self.law.levels} in [0, 1]; "
                "the exact sampler cannot be used: use --sampler gaussian"
            )
        self.checked = index
