"""Ground cost: what it takes to move one point onto another, and the scale that entropy is measured on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.transport.factors import Factors

__all__ = ["Cost", "MatrixCost", "PointCost", "joint_points", "squared_distances"]

ALL = slice(None)
LARGEST = 1e280  # squared distances beyond these leave float64, or all but vanish in it
SMALLEST = 1e-280


class Cost(Protocol):
    """A cost between ``n`` sources and ``m`` targets, for a batch ``(...)`` of problems."""

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
        """The type that results are handed out in; half precision becomes float32."""

    def check(self) -> None:
        """Refuse numbers that no solver could work with."""

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``, without gradient."""

    def matrices(self, dtype: torch.dtype) -> Callable[[slice], Tensor]:
        """From a batch of one dimension, a function that makes the cost matrices of some problems.

        What they share is made now: threads may call the function side by side.
        """

    def bound(self) -> Tensor:
        """A number that no entry exceeds in size, ``(...)``."""

    def mean(self, a: Tensor | None, b: Tensor | None) -> Tensor:
        """``sum_ij a_i b_j C_ij``: the cost of moving without any plan, ``(...)``; both None: uniform."""

    def moved(self, plan: PlanProduct) -> Tensor:
        """A number whose gradient is that of ``<P, C>`` at a fixed plan ``P``, ``(...)``."""

    def transposed(self) -> Cost:
        """The same cost seen from the targets."""

    def flat(self) -> Cost:
        """The same problems in one batch dimension."""

    def at(self, index: int | slice | Tensor) -> Cost:
        """One problem of a batch, or some."""

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient with respect to the cost is wanted."""


class PlanProduct(Protocol):
    """A plan that multiplies from either side without being held."""

    @property
    def plan(self) -> Tensor:
        """The plan itself, for costs that are matrices."""

    def times(self, values: Tensor) -> Tensor:
        """``P values``."""

    def turned_times(self, values: Tensor) -> Tensor:
        """``P^T values``."""


def squared_distances(z0: Tensor, z1: Tensor) -> Tensor:
    """``|z0_i - z1_j|^2``: ``(..., n, d), (..., m, d) -> (..., n, m)`` by one matrix product, not negative.

    Both clouds are first moved to the middle of ``z1``, so that an offset they share costs no digits.
    """
    parts = Factors.of(z0, z1, torch.promote_types(z0.dtype, z1.dtype))
    return (parts.left @ parts.right.mT).clamp_min(0)


def joint_points(z: Tensor, labels: Tensor, label_weight: float, num_classes: int) -> Tensor:
    """Points and labels in one vector, so that the joint cost of the paper is a squared distance.

    ``|z0 - z1|^2 + label_weight * |y0 - y1|^2 / 2``: classes that differ cost ``label_weight`` more, soft
    labels a share of it (the paper's distance ``d + L`` on samples and labels).
    ``z`` is ``(..., n, d)``, ``labels`` ``(..., n)`` integers or ``(..., n, k)`` soft.
    """
    if not label_weight >= 0:
        raise InputError(f"label_weight: got {label_weight}; expected a number that is not negative")
    if not labels.is_floating_point():
        labels = torch.nn.functional.one_hot(labels.long(), num_classes)
    if labels.shape[-2] != z.shape[-2]:
        raise InputError(f"labels: got {labels.shape[-2]} for {z.shape[-2]} points; expected one per point")
    labels = labels.to(z.dtype).expand(*z.shape[:-1], -1)
    return torch.cat([z, (label_weight / 2) ** 0.5 * labels], -1)


@dataclass(frozen=True)
class PointCost:
    """Squared Euclidean distance between two clouds, ``z0 (..., n, d)`` and ``z1 (..., m, d)``."""

    z0: Tensor
    z1: Tensor

    def __post_init__(self) -> None:
        for name, z in (("z0", self.z0), ("z1", self.z1)):
            if z.dim() < 2 or 0 in z.shape or not z.is_floating_point():
                raise InputError(
                    f"{name}: got {z.dtype} of shape {tuple(z.shape)}; "
                    "expected at least one floating-point point, shape (..., n, d)"
                )
        if self.z0.shape[-1] != self.z1.shape[-1]:
            raise InputError(
                f"z0 has {self.z0.shape[-1]} coordinates and z1 has {self.z1.shape[-1]}; they must agree"
            )

    @cached_property
    def _factors(self) -> Factors:
        """In the type of the points, or in float64 where squares in float32 over- or underflow."""
        if self.dtype == torch.float32:
            parts = Factors.of(self.z0, self.z1, torch.float32)
            if 1e-30 < float(parts.bound.max()) < 1e30:
                return parts
        return Factors.of(self.z0, self.z1, torch.float64)

    @cached_property
    def _products(self) -> dict[torch.dtype, tuple[Tensor, Tensor]]:
        return {}

    def _product(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        if dtype not in self._products:
            parts = self._factors
            if parts.left.dtype != dtype:
                parts = Factors.of(self.z0, self.z1, torch.float64)
            self._products[dtype] = parts.left.detach().to(dtype), parts.right.detach().to(dtype).mT
        return self._products[dtype]

    def check(self) -> None:
        """Refuse NaN, infinities, and scales whose squares leave float64."""
        largest = float(self.bound().max())
        if not largest <= LARGEST:
            raise InputError(
                f"z0 and z1: the largest squared distance comes to {largest}; expected finite points and "
                f"squares up to {LARGEST:g}; remove NaN and infinite values, or rescale"
            )
        if 0 < largest < SMALLEST:
            raise InputError(
                f"z0 and z1: all squared distances are below {largest:g}, too small for float64; "
                "multiply the points by a constant"
            )

    @property
    def batch(self) -> torch.Size:
        """Leading dimensions, one problem each."""
        first, second = self.z0.shape[:-2], self.z1.shape[:-2]
        try:
            return first if first == second else torch.Size(torch.broadcast_shapes(first, second))
        except RuntimeError as error:
            both = f"{tuple(first)} and {tuple(second)}"
            raise InputError(f"z0 and z1: batches {both} do not fit together; give one shape") from error

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

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``, without gradient."""
        left, right = self._product(dtype)
        cost = (left[..., rows, :] @ right).clamp_min_(0)
        return cost.expand(*self.batch, *cost.shape[-2:])

    def matrices(self, dtype: torch.dtype) -> Callable[[slice], Tensor]:
        """A function that makes the cost matrices of some problems."""
        left, right = self._product(dtype)
        return lambda which: torch.bmm(left[which], right[which]).clamp_min_(0)

    def bound(self) -> Tensor:
        """``(|x0| + |x1|)^2`` of the points farthest from the middle."""
        return self._factors.bound

    def mean(self, a: Tensor | None, b: Tensor | None) -> Tensor:
        """``sum_ij a_i b_j C_ij`` from the moments of both clouds: no matrix is made."""
        left, right, _, mean = self._factors
        if a is None or b is None:
            if not self.requires_grad:
                return mean
            a, b = (torch.full_like(x[..., 0].detach(), 1 / x.shape[-2]) for x in (left, right))
        moments = (a.to(left.dtype).unsqueeze(-2) @ left) * (b.to(right.dtype).unsqueeze(-2) @ right)
        return moments.double().sum((-1, -2)).clamp_min(0)

    def moved(self, plan: PlanProduct) -> Tensor:
        """``<P, left right^T>``, where ``P`` and one of the factors are held fixed in turn."""
        left, right, _, _ = Factors.of(self.z0, self.z1, torch.float64)
        to_left, to_right = plan.times(right.detach()), plan.turned_times(left.detach())
        return (left * to_left).sum((-1, -2)) + (right * to_right).sum((-1, -2))

    def transposed(self) -> PointCost:
        """The same cost seen from the targets."""
        return PointCost(self.z1, self.z0)

    def flat(self) -> PointCost:
        """The same problems in one batch dimension."""
        if self.z0.dim() == self.z1.dim() == 2:
            return PointCost(self.z0.detach()[None], self.z1.detach()[None])
        if self.z0.dim() == 3 and self.z0.shape[0] == self.z1.shape[0] and not self.requires_grad:
            return self
        z0, z1 = (z.detach().expand(*self.batch, *z.shape[-2:]) for z in (self.z0, self.z1))
        return PointCost(z0.reshape(-1, *z0.shape[-2:]), z1.reshape(-1, *z1.shape[-2:]))

    def at(self, index: int | slice | Tensor) -> PointCost:
        """One problem of a batch, or some."""
        z0, z1 = (z.expand(*self.batch, *z.shape[-2:]) for z in (self.z0, self.z1))
        return PointCost(z0[index], z1[index])

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient with respect to the points is wanted."""
        return self.z0.requires_grad or self.z1.requires_grad


@dataclass(frozen=True)
class MatrixCost:
    """A cost given as a matrix ``(..., n, m)``: any ground cost, any label cost."""

    values: Tensor

    def __post_init__(self) -> None:
        values = self.values
        if values.dim() < 2 or 0 in values.shape or not values.is_floating_point():
            raise InputError(
                f"cost: got {values.dtype} of shape {tuple(values.shape)}; "
                "expected floating point, (..., n, m)"
            )

    def check(self) -> None:
        """Refuse NaN and infinities."""
        if not float(self.bound().max()) <= LARGEST:
            raise InputError(
                f"cost: holds NaN, infinite or entries beyond {LARGEST:g}; give a large finite cost where "
                "nothing may go"
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

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64) -> Tensor:
        """The chosen rows, ``(..., rows, m)``, without gradient."""
        return self.values.detach()[..., rows, :].to(dtype)

    def matrices(self, dtype: torch.dtype) -> Callable[[slice], Tensor]:
        """A function that gives the cost matrices of some problems."""
        values = self.values.detach()
        return lambda which: values[which].to(dtype)

    def bound(self) -> Tensor:
        """The largest entry in size."""
        return self._bound

    @cached_property
    def _bound(self) -> Tensor:
        return self.values.detach().abs().amax((-1, -2)).double()

    def mean(self, a: Tensor | None, b: Tensor | None) -> Tensor:
        """``sum_ij a_i b_j C_ij``."""
        if a is None or b is None:
            return self.values.double().mean((-1, -2))
        return ((self.values.double() @ b.unsqueeze(-1)).squeeze(-1) * a).sum(-1)

    def moved(self, plan: PlanProduct) -> Tensor:
        """``<P, C>`` with ``P`` held fixed."""
        return (plan.plan.detach() * self.values).sum((-1, -2))

    def transposed(self) -> MatrixCost:
        """The same cost seen from the targets."""
        return MatrixCost(self.values.mT)

    def flat(self) -> MatrixCost:
        """The same problems in one batch dimension."""
        return MatrixCost(self.values.detach().reshape(-1, *self.size))

    def at(self, index: int | slice | Tensor) -> MatrixCost:
        """One problem of a batch, or some."""
        return MatrixCost(self.values[index])

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient with respect to the matrix is wanted."""
        return self.values.requires_grad
