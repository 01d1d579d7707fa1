"""Ground cost: what it takes to move one point onto another, and the scale that entropy is measured on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from wassermix.errors import InputError

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

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64, *, which: slice = ALL) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``, without gradient.

        ``which`` picks problems from a batch of one dimension.
        """

    def bound(self) -> Tensor:
        """A number that no entry exceeds in size, ``(...)``."""

    def mean(self, a: Tensor, b: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij``: the cost of moving without any plan, ``(...)``."""

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
    left, right = _factors(_Centred.of(z0, z1, torch.promote_types(z0.dtype, z1.dtype)))
    return (left @ right.mT).clamp_min(0)


class _Centred(NamedTuple):
    """Two clouds around the middle of the second, and their squared distances from it."""

    x0: Tensor
    x1: Tensor
    norms0: Tensor
    norms1: Tensor

    @classmethod
    def of(cls, z0: Tensor, z1: Tensor, dtype: torch.dtype) -> _Centred:
        z0, z1 = z0.to(dtype), z1.to(dtype)
        middle = z1.detach().mean(-2, keepdim=True)
        x0, x1 = z0 - middle, z1 - middle
        return cls(x0, x1, x0.square().sum(-1), x1.square().sum(-1))

    def usual(self) -> bool:
        """Whether float32 holds the squares without overflow or underflow."""
        return 1e-30 < float(torch.maximum(self.norms0.amax(), self.norms1.amax())) < 1e30


def _factors(parts: _Centred) -> tuple[Tensor, Tensor]:
    """``[x0, |x0|^2, 1]`` and ``[-2 x1, 1, |x1|^2]``: their product is the matrix of squared distances."""
    x0, x1, n0, n1 = parts
    n0, n1 = n0.unsqueeze(-1), n1.unsqueeze(-1)
    return torch.cat([x0, n0, torch.ones_like(n0)], -1), torch.cat([-2 * x1, torch.ones_like(n1), n1], -1)


def joint_points(z: Tensor, labels: Tensor, label_weight: float, num_classes: int) -> Tensor:
    """Points and labels in one vector, so that the joint cost of the paper is a squared distance.

    ``|z0 - z1|^2 + label_weight * |y0 - y1|^2 / 2``: classes that differ cost ``label_weight`` more, soft
    labels a share of it (the distance ``d + L`` on samples and labels, methods.md 8-A5).
    ``z`` is ``(..., n, d)``, ``labels`` ``(..., n)`` integers or ``(..., n, k)`` soft.
    """
    if not label_weight >= 0:
        raise InputError(f"label_weight: got {label_weight}; expected a number that is not negative")
    if not labels.is_floating_point():
        labels = torch.nn.functional.one_hot(labels.long(), num_classes)
    if labels.shape[-2] != z.shape[-2]:
        raise InputError(f"labels: got {labels.shape[-2]} for {z.shape[-2]} points; expected one a point")
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
    def _centred(self) -> _Centred:
        if self.dtype == torch.float32 and (parts := _Centred.of(self.z0, self.z1, torch.float32)).usual():
            return parts
        return _Centred.of(self.z0, self.z1, torch.float64)

    @cached_property
    def _products(self) -> dict[torch.dtype, tuple[Tensor, Tensor]]:
        return {}

    def _product(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        if dtype not in self._products:
            same = self._centred.x0.dtype == dtype
            parts = self._centred if same else _Centred.of(self.z0, self.z1, torch.float64)
            left, right = _factors(_Centred(*(part.detach() for part in parts)))
            self._products[dtype] = left.to(dtype), right.to(dtype)
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
        return first if first == second else torch.Size(torch.broadcast_shapes(first, second))

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

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64, *, which: slice = ALL) -> Tensor:
        """The chosen rows of the cost matrix, ``(..., rows, m)``, without gradient."""
        left, right = self._product(dtype)
        if which != ALL:
            left, right = left[which], right[which]
        cost = (left[..., rows, :] @ right.mT).clamp_min_(0)
        return cost if which != ALL else cost.expand(*self.batch, *cost.shape[-2:])

    def bound(self) -> Tensor:
        """``(|x0| + |x1|)^2`` of the points farthest from the middle."""
        return self._bound

    @cached_property
    def _bound(self) -> Tensor:
        n0, n1 = (norms.detach().amax(-1).double() for norms in self._centred[2:])
        return (n0.sqrt() + n1.sqrt()).square().expand(self.batch)

    def mean(self, a: Tensor, b: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij`` from the moments of both clouds: no matrix is made."""
        x0, x1, n0, n1 = self._centred
        squares = (a * n0).sum(-1) * b.sum(-1) + (b * n1).sum(-1) * a.sum(-1)
        middles = (a.to(x0.dtype).unsqueeze(-2) @ x0) * (b.to(x1.dtype).unsqueeze(-2) @ x1)
        return (squares - 2 * middles.sum((-1, -2))).clamp_min(0)

    def moved(self, plan: PlanProduct) -> Tensor:
        """``<r, |x|^2> + <c, |y|^2> - 2 <x, P y> - 2 <y, P^T x>`` with the products held fixed."""
        x0, x1, n0, n1 = _Centred.of(self.z0, self.z1, torch.float64)
        r, c = plan.times(torch.ones_like(x1[..., :1])), plan.turned_times(torch.ones_like(x0[..., :1]))
        squares = (r.squeeze(-1) * n0).sum(-1) + (c.squeeze(-1) * n1).sum(-1)
        cross = (x0 * plan.times(x1.detach())).sum((-1, -2)) + (x1 * plan.turned_times(x0.detach())).sum(
            (-1, -2)
        )
        return squares - 2 * cross

    def transposed(self) -> PointCost:
        """The same cost seen from the targets."""
        return PointCost(self.z1, self.z0)

    def flat(self) -> PointCost:
        """The same problems in one batch dimension."""
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

    def block(self, rows: slice = ALL, dtype: torch.dtype = torch.float64, *, which: slice = ALL) -> Tensor:
        """The chosen rows, ``(..., rows, m)``, without gradient."""
        values = self.values.detach() if which == ALL else self.values.detach()[which]
        return values[..., rows, :].to(dtype)

    def bound(self) -> Tensor:
        """The largest entry in size."""
        return self.values.detach().abs().amax((-1, -2)).double()

    def mean(self, a: Tensor, b: Tensor) -> Tensor:
        """``sum_ij a_i b_j C_ij``."""
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
