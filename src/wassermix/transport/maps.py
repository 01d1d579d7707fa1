"""Transport maps: where does this point go?"""

from __future__ import annotations

from typing import Protocol, Self

import torch
from torch import Tensor

from wassermix.errors import InputError
from wassermix.transport.coupling import Coupling
from wassermix.transport.gaussian import Gaussian, gaussian_map
from wassermix.transport.sinkhorn import solve_coupling

__all__ = ["BarycentricMap", "EntropicMap", "GaussianMap", "PairMap", "TransportMap"]


class TransportMap(Protocol):
    """Fitted on two clouds, it moves points of the first towards the second."""

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Learn where ``z0 (..., n, d)`` goes in ``z1 (..., m, d)``."""

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go, same shape."""


def _require_fitted(fitted: object | None, name: str) -> None:
    if fitted is None:
        raise InputError(f"{name}: map() before fit(); call fit(z0, z1) first")


def _require_same(z: Tensor, z0: Tensor, name: str) -> None:
    if z.shape != z0.shape or not torch.equal(z, z0):
        raise InputError(
            f"{name} only knows the points that it was fitted on; use EntropicMap or GaussianMap for others"
        )


class BarycentricMap:
    """The barycentric projection of the entropic plan, ``diag(P 1)^-1 P z1`` (Eq. 11), for the fitted points."""

    def __init__(self, *, entropy: float = 0.02, tolerance: float = 1e-4) -> None:
        self.entropy, self.tolerance = entropy, tolerance
        self.coupling: Coupling | None = None

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Solve the coupling and project it."""
        self.coupling = solve_coupling(z0, z1, self.entropy, tolerance=self.tolerance)
        self._source, self._image = z0, self.coupling.push(z1)
        return self

    def map(self, z: Tensor) -> Tensor:
        """The images of the fitted points."""
        _require_fitted(self.coupling, "BarycentricMap")
        _require_same(z, self._source, "BarycentricMap")
        return self._image


class EntropicMap:
    """The entropic map, for points not seen too.

    ``T(x) = sum_j w_j(x) z1_j`` with ``w_j(x)`` proportional to ``b_j exp((g_j - |x - z1_j|^2) / entropy)``.
    On the fitted points it equals the barycentric projection.
    """

    def __init__(self, *, entropy: float = 0.02, tolerance: float = 1e-4) -> None:
        self.entropy, self.tolerance = entropy, tolerance
        self.coupling: Coupling | None = None

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Solve the coupling; only the targets and their potential are kept for mapping."""
        self.coupling = solve_coupling(z0, z1, self.entropy, tolerance=self.tolerance)
        self._targets = z1
        return self

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go."""
        _require_fitted(self.coupling, "EntropicMap")
        assert self.coupling is not None
        y, eps = self._targets.double(), self.coupling.entropy[..., None, None]
        offsets = (self.coupling.g - y.square().sum(-1)).unsqueeze(
            -2
        ) / eps + self.coupling.weights1.log().unsqueeze(-2)
        weights = (offsets + (2 / eps) * (z.double() @ y.mT)).softmax(-1)
        return (weights @ y).to(z.dtype)


class GaussianMap:
    """The optimal map between the Gaussians fitted to both clouds, ``m1 + A (x - m0)``."""

    def __init__(self) -> None:
        self.matrix: Tensor | None = None

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Fit both Gaussians and their map."""
        self.source, self.target = Gaussian.fit(z0), Gaussian.fit(z1)
        self.matrix = gaussian_map(self.source, self.target)
        return self

    def map(self, z: Tensor) -> Tensor:
        """Where the points ``z (..., k, d)`` go."""
        _require_fitted(self.matrix, "GaussianMap")
        assert self.matrix is not None
        moved = (z.double() - self.source.mean.unsqueeze(-2)) @ self.matrix
        return (moved + self.target.mean.unsqueeze(-2)).to(z.dtype)


class PairMap:
    """Point ``i`` goes to target ``i`` (counted round where there are fewer): the map behind mixup."""

    def __init__(self) -> None:
        self._image: Tensor | None = None

    def fit(self, z0: Tensor, z1: Tensor) -> Self:
        """Pair the clouds in the order given."""
        n, m = z0.shape[-2], z1.shape[-2]
        self._source, self._image = z0, z1[..., torch.arange(n, device=z1.device) % m, :]
        return self

    def map(self, z: Tensor) -> Tensor:
        """The partners of the fitted points."""
        _require_fitted(self._image, "PairMap")
        assert self._image is not None
        _require_same(z, self._source, "PairMap")
        return self._image
