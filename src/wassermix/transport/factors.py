"""Squared distances between two clouds as the product of two matrices, made in torch or compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from wassermix.core.jit import available

__all__ = ["Factors"]


class Factors(NamedTuple):
    """Matrices whose product ``left @ right.mT`` holds the squared distances ``|z0_i - z1_j|^2``.

    Both clouds are moved to the middle of the second, so that an offset they share costs no digits:
    ``x0 = z0 - middle``, ``x1 = z1 - middle``.
    """

    left: Tensor
    """``[x0, |x0|^2, 1]``, ``(..., n, d + 2)``."""
    right: Tensor
    """``[-2 x1, 1, |x1|^2]``, ``(..., m, d + 2)``."""
    bound: Tensor
    """``(max |x0| + max |x1|)^2``, which no squared distance exceeds, float64 ``(...)``, no gradient."""
    mean: Tensor
    """The mean squared distance, float64 ``(...)``, no gradient: as ``x1`` has mean 0, that of the norms."""

    @classmethod
    def of(cls, z0: Tensor, z1: Tensor, dtype: torch.dtype) -> Factors:
        """The factors for ``z0 (..., n, d)`` and ``z1 (..., m, d)``."""
        z0, z1 = z0.to(dtype), z1.to(dtype)
        plain = z0.device.type == z1.device.type == "cpu" and not (z0.requires_grad or z1.requires_grad)
        if plain and z0.dim() == z1.dim() == 3 and len(z0) == len(z1) and available():
            return _compiled(z0, z1)
        return _differentiable(z0, z1)


def _differentiable(z0: Tensor, z1: Tensor) -> Factors:
    middle = z1.detach().mean(-2, keepdim=True)
    x0, x1 = z0 - middle, z1 - middle
    n0, n1 = x0.square().sum(-1), x1.square().sum(-1)
    far0, far1 = (n.detach().amax(-1).double().sqrt() for n in (n0, n1))
    mean = n0.detach().double().mean(-1) + n1.detach().double().mean(-1)
    n0, n1 = n0.unsqueeze(-1), n1.unsqueeze(-1)
    left = torch.cat([x0, n0, torch.ones_like(n0)], -1)
    right = torch.cat([-2 * x1, torch.ones_like(n1), n1], -1)
    return Factors(left, right, (far0 + far1).square(), mean)


def _compiled(z0: Tensor, z1: Tensor) -> Factors:
    from wassermix.transport.centring import centre_run

    x0, x1 = z0.contiguous().numpy(), z1.contiguous().numpy()
    (count, n, d), m = x0.shape, x1.shape[1]
    left, right = np.empty((count, n, d + 2), x0.dtype), np.empty((count, m, d + 2), x0.dtype)
    bound, mean = np.empty(count), np.empty(count)
    centre_run(x0, x1, left, right, bound, mean)
    return Factors(*(torch.from_numpy(part) for part in (left, right, bound, mean)))
