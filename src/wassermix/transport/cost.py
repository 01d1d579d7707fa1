"""Ground cost: what it takes to move one point onto another, and the scale that entropy is measured on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from wassermix.errors import InputError

__all__ = ["Cost", "MatrixCost", "PointCost", "joint_points", "squared_distances"]

LARGEST_SPREAD = 1e140  # beyond it the square of a distance leaves float64
SMALLEST_SPREAD = 1e-140


class Cost(Protocol):
    """A cost between ``n`` sources and ``m`` targets, for a batch of problems."""

    @property
    def batch(self) -> torch.Size:
        """Leading dimensions, one problem each."""

    @property
    def size(self) -> tuple[int, int]:
        """``(n, m)``."""

    @property
    def device(self) -> torch.device:
        """Where the numbers live."""

    @property
    def dtype(self) -> torch.dtype:
        """The type that results are handed out in."""

    def block(self, rows: slice = slice(None), dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``."""

    def mean(self, weights0: Tensor, weights1: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij``: the cost of moving without any plan, ``(...)``."""

    def transposed(self) -> Cost:
        """The same cost seen from the targets."""


def squared_distances(z0: Tensor, z1: Tensor) -> Tensor:
    """``|z0_i - z1_j|^2``: ``(..., n, d), (..., m, d) -> (..., n, m)``, by one matrix product, never negative.

    Both clouds are first moved to the middle of ``z1``, so that an offset they share costs no digits.
    """
    middle = z1.mean(-2, keepdim=True)
    z0, z1 = z0 - middle, z1 - middle
    norms = z0.square().sum(-1).unsqueeze(-1) + z1.square().sum(-1).unsqueeze(-2)
    return (norms - 2 * z0 @ z1.mT).clamp_min_(0)


def joint_points(z: Tensor, labels: Tensor, label_weight: float, num_classes: int) -> Tensor:
    """Points and labels in one vector, so that the joint cost of the paper is a squared distance.

    ``|z0 - z1|^2 + label_weight * |y0 - y1|^2 / 2``: classes that differ cost ``label_weight`` more, soft
    labels a share of it (the distance ``d + L`` on samples and labels under Eq. 1 of the paper).
    ``z`` is ``(..., n, d)``, ``labels`` ``(..., n)`` integers or ``(..., n, k)`` soft.
    """
    if not labels.is_floating_point():
        labels = torch.nn.functional.one_hot(labels, num_classes)
    labels = labels.to(z.dtype).expand(*z.shape[:-1], -1)
    return torch.cat([z, (label_weight / 2) ** 0.5 * labels], -1)


@dataclass(frozen=True)
class PointCost:
    """Squared Euclidean distance between two clouds, ``z0 (..., n, d)`` and ``z1 (..., m, d)``."""

    z0: Tensor
    z1: Tensor

    def __post_init__(self) -> None:
        for name, z in (("z0", self.z0), ("z1", self.z1)):
            if z.dim() < 2 or not z.is_floating_point():
                raise InputError(
                    f"{name}: got {z.dtype} of shape {tuple(z.shape)}; "
                    "expected floating-point points of shape (..., n, d)"
                )
            if 0 in z.shape:
                raise InputError(f"{name}: shape {tuple(z.shape)} holds no points; give at least one")
        if self.z0.shape[-1] != self.z1.shape[-1]:
            raise InputError(
                f"z0 has {self.z0.shape[-1]} coordinates and z1 has {self.z1.shape[-1]}; they must agree"
            )
        self._check_range()

    def _check_range(self) -> None:
        z0, z1 = self.z0.detach(), self.z1.detach()
        spread = max(float((z - z1.mean()).abs().max()) for z in (z0.double(), z1.double()))
        if not spread <= LARGEST_SPREAD:
            raise InputError(
                f"z0 and z1: the largest deviation from the mean is {spread}; expected finite points within "
                f"{LARGEST_SPREAD:g}; remove NaN and infinite values, or rescale"
            )
        if 0 < spread < SMALLEST_SPREAD:
            raise InputError(
                f"z0 and z1: all points lie within {spread:g} of each other, so squared distances vanish in "
                "float64; multiply them by a constant"
            )

    @property
    def batch(self) -> torch.Size:
        """Leading dimensions, one problem each."""
        return torch.broadcast_shapes(self.z0.shape[:-2], self.z1.shape[:-2])

    @property
    def size(self) -> tuple[int, int]:
        """``(n, m)``."""
        return self.z0.shape[-2], self.z1.shape[-2]

    @property
    def device(self) -> torch.device:
        """Where the points live."""
        return self.z0.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the points; half precision becomes float32."""
        return torch.promote_types(torch.promote_types(self.z0.dtype, self.z1.dtype), torch.float32)

    def block(self, rows: slice = slice(None), dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``."""
        z0, z1 = self.z0.detach(), self.z1.detach()
        cost = squared_distances(z0[..., rows, :].to(dtype), z1.to(dtype))
        return cost.expand(*self.batch, *cost.shape[-2:])

    def mean(self, weights0: Tensor, weights1: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij`` from the moments of both clouds: no matrix is made."""
        z0, z1 = self.z0.double(), self.z1.double()
        middle = z1.mean(-2, keepdim=True).detach()
        z0, z1 = z0 - middle, z1 - middle
        a, b = weights0.unsqueeze(-1), weights1.unsqueeze(-1)
        squares = (a * z0.square()).sum((-1, -2)) * b.sum((-1, -2)) + (b * z1.square()).sum((-1, -2)) * a.sum(
            (-1, -2)
        )
        return squares - 2 * ((a * z0).sum(-2) * (b * z1).sum(-2)).sum(-1)

    def transposed(self) -> PointCost:
        """The same cost seen from the targets."""
        return PointCost(self.z1, self.z0)


@dataclass(frozen=True)
class MatrixCost:
    """A cost given as a matrix ``(..., n, m)``: any ground cost, any label cost."""

    values: Tensor

    def __post_init__(self) -> None:
        values = self.values
        if values.dim() < 2 or 0 in values.shape or not values.is_floating_point():
            raise InputError(
                f"cost: got {values.dtype} of shape {tuple(values.shape)}; expected floating point, (..., n, m)"
            )
        if not bool(values.isfinite().all()):
            raise InputError(
                "cost: holds NaN or infinite entries; give a large finite cost where nothing may go"
            )

    @property
    def batch(self) -> torch.Size:
        """Leading dimensions, one problem each."""
        return self.values.shape[:-2]

    @property
    def size(self) -> tuple[int, int]:
        """``(n, m)``."""
        return self.values.shape[-2], self.values.shape[-1]

    @property
    def device(self) -> torch.device:
        """Where the matrix lives."""
        return self.values.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the matrix; half precision becomes float32."""
        return torch.promote_types(self.values.dtype, torch.float32)

    def block(self, rows: slice = slice(None), dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows, ``(..., rows, m)``."""
        return self.values.detach()[..., rows, :].to(dtype)

    def mean(self, weights0: Tensor, weights1: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij``."""
        return ((self.values.double() @ weights1.unsqueeze(-1)).squeeze(-1) * weights0).sum(-1)

    def transposed(self) -> MatrixCost:
        """The same cost seen from the targets."""
        return MatrixCost(self.values.mT)
