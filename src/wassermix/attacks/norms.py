"""The two norms of an attack: how to step, how to come back into the ball, where to start."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from wassermix.core.errors import InputError

__all__ = ["NORMS", "Bounds", "Norm", "check_norm", "direction", "length", "project", "random_in_ball"]

Norm = Literal["l2", "linf"]
NORMS: tuple[str, ...] = get_args(Norm)
Bounds = tuple[float, float] | None
"""The lowest and highest value of an input; None for vectors without a scale."""


def check_norm(norm: str) -> None:
    """Refuse a norm that we do not know."""
    if norm not in NORMS:
        raise InputError(f"attack: norm is '{norm}'; expected one of {', '.join(NORMS)}")


def length(delta: Tensor, norm: Norm) -> Tensor:
    """The norm of each sample of ``delta (n, ...)``: ``(n,)``."""
    flat = delta.reshape(len(delta), -1)
    if norm == "linf":
        return flat.abs().amax(dim=1) if flat.shape[1] else flat.new_zeros(len(flat))
    size: Tensor = torch.linalg.vector_norm(flat, dim=1)
    return size


def direction(gradient: Tensor, norm: Norm, generator: torch.Generator | None = None) -> Tensor:
    """The step of length 1 that climbs fastest: ``g / |g|_2`` for l2, ``sign(g)`` for linf.

    A sample whose gradient is zero everywhere takes a random direction, in training and in
    evaluation alike: standing still fools nobody, and a step off a flat spot may find a slope.
    Without a generator such a sample stays where it is.
    """
    flat_zero = _per_sample(length(gradient, "linf") == 0, gradient)
    if generator is not None and bool(flat_zero.any()):
        gradient = torch.where(flat_zero, _normal(gradient, generator), gradient)
    if norm == "linf":
        return gradient.sign()
    # Divided by the largest entry first: the square of a gradient of 1e-30 is zero in float32.
    tiny = torch.finfo(gradient.dtype).tiny
    scaled = gradient / _per_sample(length(gradient, "linf").clamp_min(tiny), gradient)
    return scaled / _per_sample(length(scaled, "l2").clamp_min(tiny), gradient)


def project(delta: Tensor, eps: float, norm: Norm) -> Tensor:
    """The nearest point of the ball of radius ``eps`` around zero to each sample of ``delta``."""
    if norm == "linf":
        return delta.clamp(-eps, eps)
    size = length(delta, "l2").clamp_min(torch.finfo(delta.dtype).tiny)
    return delta * _per_sample((eps / size).clamp_max(1.0), delta)


def random_in_ball(like: Tensor, eps: float, norm: Norm, *, generator: torch.Generator) -> Tensor:
    """A point for each sample, uniform in the ball of radius ``eps``: shape of ``like (n, ...)``."""
    if norm == "linf":
        return (2 * _uniform(like.shape, like, generator) - 1) * eps
    dimension = max(like[0].numel(), 1) if len(like) else 1
    radius = eps * _uniform((len(like),), like, generator) ** (1 / dimension)
    return direction(_normal(like, generator), "l2") * _per_sample(radius, like)


def _per_sample(values: Tensor, like: Tensor) -> Tensor:
    return values.reshape(-1, *[1] * (like.dim() - 1))


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    noise = torch.randn(like.shape, generator=generator, device=generator.device, dtype=like.dtype)
    return noise.to(like.device)


def _uniform(shape: tuple[int, ...], like: Tensor, generator: torch.Generator) -> Tensor:
    noise = torch.rand(shape, generator=generator, device=generator.device, dtype=like.dtype)
    return noise.to(like.device)
