"""Random draws on whatever device the generator lives on, handed over on the one that needs them."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["choose", "normal", "permutation", "uniform"]


def _home(generator: torch.Generator | None) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device


def uniform(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
    """U(0, 1) draws."""
    return torch.rand(shape, generator=generator, device=_home(generator)).to(device)


def normal(shape: tuple[int, ...], generator: torch.Generator | None, device: torch.device) -> Tensor:
    """Standard normal draws."""
    return torch.randn(shape, generator=generator, device=_home(generator)).to(device)


def permutation(count: int, generator: torch.Generator | None) -> Tensor:
    """A random order of ``0 .. count-1``, on the CPU."""
    return torch.randperm(count, generator=generator, device=_home(generator)).cpu()


def choose(weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """``count`` indices drawn with replacement in proportion to ``weights (n,)``, on the CPU."""
    drawn = torch.multinomial(weights.to(_home(generator)), count, replacement=True, generator=generator)
    return drawn.cpu()
