"""The geodesic between two classes: what lies between them, with labels and velocities."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal

import torch
from torch import Tensor
from torch.autograd import forward_ad

from wassermix.core import labels as labelling
from wassermix.core.errors import InputError
from wassermix.embed import Embedding, Pixel
from wassermix.transport import BarycentricMap, Coupling, TransportMap
from wassermix.transport.cost import joint_points

__all__ = ["Geodesic", "Labels", "PathPoint", "value_and_velocity"]

Labels = Literal["mix", "side", "hard"]
LABELS: tuple[Labels, ...] = ("mix", "side", "hard")
ROUNDING = 1e-6  # by which a computed time may leave [0, 1]


@dataclass(frozen=True, eq=False)
class PathPoint:
    """All samples of a path at one time (or each at its own): position, label, their velocities, latent."""

    t: Tensor
    """Time, ``()`` or ``(n,)``."""
    z: Tensor
    """Latent position ``(n, d)``."""
    dz: Tensor
    """Latent velocity ``(n, d)``."""
    y: Tensor
    """Soft label ``(n, k)``."""
    dy: Tensor
    """The label's velocity ``(n, k)``."""
    embed: Embedding

    @cached_property
    def x(self) -> Tensor:
        """The decoded position ``psi(z) (n, *shape)``."""
        return self.embed.decode(self.z)

    @cached_property
    def dx(self) -> Tensor:
        """The decoded velocity ``d psi(z_t) / dt (n, *shape)``, by forward differentiation of the decoder."""
        return value_and_velocity(self.embed.decode, self.z, self.dz)[1]


@dataclass(frozen=True, eq=False)
class Geodesic:
    """McCann's interpolation (Eq. 3): particle ``i`` runs from ``start_i`` to ``end_i = T(start_i)``.

    ``z_t = (1-t) z + t T(z)`` in the latent space with constant velocity ``T(z) - z``, seen through the
    decoder. The label runs along (Eq. 12): ``mix`` is ``(1-t) y0 + t y1``; ``side`` is ``y0`` before the
    middle and ``y1`` from there on; ``hard`` stays ``y0``. Particle ``i`` carries the mass ``weights_i``.
    """

    start: Tensor
    """``(n, d)``."""
    end: Tensor
    """``(n, d)``."""
    y0: Tensor
    """Soft labels at the start, ``(n, k)``."""
    y1: Tensor
    """Soft labels at the end, ``(n, k)``."""
    weights: Tensor
    """Masses ``(n,)``, sum 1."""
    embed: Embedding
    labels: Labels = "mix"

    @classmethod
    def fit(
        cls,
        x0: Tensor,
        x1: Tensor,
        y0: int | Tensor = 0,
        *,
        y1: int | Tensor = 1,
        embed: Embedding | None = None,
        transport: TransportMap | float = 0.02,
        labels: Labels = "mix",
        both: bool = False,
        num_classes: int | None = None,
    ) -> Geodesic:
        """The path from samples ``x0 (n, *shape)`` to ``x1 (m, *shape)``; ``n`` and ``m`` may differ.

        ``y0`` and ``y1`` are a class for all or labels for each, hard ``(n,)`` or soft ``(n, k)``; those at
        the end go along with the plan's or the pairs' targets, which other maps do not name.
        ``transport`` is anything with ``fit(z0, z1)`` and ``map(z)``, or the entropy of the barycentric
        projection of the entropic plan; a :class:`PairMap` makes this mixup. With ``both``, half of the mass
        runs the other way, from ``x1`` at ``t=1`` to its image under the reverse map at ``t=0``: the path
        from ``x1`` to ``x0`` at ``1-t`` has the same samples and labels as this one at ``t``.
        """
        _require_labels(labels)
        if len(x0) == 0 or len(x1) == 0:
            raise InputError(f"a geodesic needs samples of both classes; got {len(x0)} and {len(x1)}")
        if x0.shape[1:] != x1.shape[1:]:
            raise InputError(
                f"a geodesic joins samples of one shape; got {tuple(x0.shape[1:])} and {tuple(x1.shape[1:])}"
            )
        embed = Pixel().fit(x0[:1]) if embed is None else embed
        z0, z1 = embed.encode(x0), embed.encode(x1)
        k = num_classes or max(_count(y0), _count(y1))
        transport = _map(transport)
        other = copy.deepcopy(transport)  # before it is fitted: what it then holds may be part of a graph
        forward = cls._directed(z0, z1, (y0, y1), transport, embed=embed, labels=labels, num_classes=k)
        if not both:
            return forward
        back = cls._directed(z1, z0, (y1, y0), other, embed=embed, labels=labels, num_classes=k)
        back = back.reversed()
        return forward.joined(replace(back, y0=back.y1) if labels == "hard" else back)

    @classmethod
    def joint(
        cls,
        x0: Tensor,
        x1: Tensor,
        y0: Tensor,
        *,
        y1: Tensor,
        label_weight: float = 1.0,
        embed: Embedding | None = None,
        transport: TransportMap | float = 0.02,
        labels: Labels = "mix",
    ) -> Geodesic:
        """The path between samples of several classes each, under the paper's cost on samples and labels.

        ``|z0 - z1|^2 + label_weight |y0 - y1|^2 / 2``: the larger the weight, the more samples stay in their
        class. ``y0`` and ``y1`` are classes ``(n,)`` or soft labels ``(n, k)``; the rest as in :meth:`fit`.
        """
        _require_labels(labels)
        if not label_weight > 0:
            raise InputError(f"label_weight is {label_weight}; expected a positive number, or use fit")
        embed = Pixel().fit(x0[:1]) if embed is None else embed
        z0, z1, k = embed.encode(x0), embed.encode(x1), max(_count(y0), _count(y1))
        first, last = _labels(y0, len(z0), k, like=z0), _labels(y1, len(z1), k, like=z1)
        start, end = (joint_points(z, y, label_weight, k) for z, y in ((z0, first), (z1, last)))
        transport = _map(transport)
        transport.fit(start, end)
        image, label = transport.map(start).split([z0.shape[1], k], dim=1)
        label = label / (label_weight / 2) ** 0.5
        return cls(z0, image, first, label, weights=_uniform(z0), embed=embed, labels=labels)

    @classmethod
    def from_coupling(
        cls,
        z0: Tensor,
        z1: Tensor,
        coupling: Coupling,
        *,
        y0: int,
        y1: int,
        embed: Embedding,
        num_classes: int,
        labels: Labels = "mix",
    ) -> Geodesic:
        """One particle for each entry of the plan: the exact geodesic of an exact coupling for any sizes.

        Where a source splits, the barycentric projection would average its targets; this keeps them apart.
        """
        plan = coupling.plan
        source, target = (plan > plan.max() * 1e-9).nonzero(as_tuple=True)
        mass = plan[source, target]
        first, last = (_labels(y, len(source), num_classes, like=z0) for y in (y0, y1))
        return cls(z0[source], z1[target], first, last, weights=mass / mass.sum(), embed=embed, labels=labels)

    @classmethod
    def along(
        cls,
        x0: Tensor,
        transport: TransportMap,
        y0: int | Tensor = 0,
        *,
        y1: int | Tensor = 1,
        embed: Embedding,
        labels: Labels = "mix",
        num_classes: int | None = None,
    ) -> Geodesic:
        """The path of (new) samples ``x0`` under a map that is fitted already, in the latent space."""
        _require_labels(labels)
        z0 = embed.encode(x0)
        k = num_classes or max(_count(y0), _count(y1))
        first, last = (_labels(y, len(z0), k, like=z0) for y in (y0, y1))
        return cls(z0, transport.map(z0), first, last, weights=_uniform(z0), embed=embed, labels=labels)

    @classmethod
    def _directed(
        cls,
        z0: Tensor,
        z1: Tensor,
        ends: tuple[int | Tensor, int | Tensor],
        transport: TransportMap,
        *,
        embed: Embedding,
        labels: Labels,
        num_classes: int,
    ) -> Geodesic:
        transport.fit(z0, z1)  # whatever it returns: a map of the user's own may return nothing
        image = transport.map(z0)
        first = _labels(ends[0], len(z0), num_classes, like=z0)
        last = _mapped_labels(ends[1], z0, transport, num_classes=num_classes, count=len(z1))
        return cls(z0, image, first, last, weights=_uniform(z0), embed=embed, labels=labels)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def num_classes(self) -> int:
        """The width ``k`` of the labels."""
        return self.y0.shape[1]

    def at(self, t: float | Tensor) -> PathPoint:
        """The path at time ``t`` in [0, 1]: one for all, or ``(n,)`` one for each particle."""
        time = torch.as_tensor(t, dtype=self.start.dtype, device=self.start.device)
        if not bool(((time >= -ROUNDING) & (time <= 1 + ROUNDING)).all()):  # NaN is refused too
            got = t if time.dim() == 0 else f"{float(time.min()):g} to {float(time.max()):g}"
            raise InputError(f"a geodesic runs from t=0 to t=1; got t={got}")
        column = time.reshape(-1, 1) if time.dim() else time
        velocity = self.end - self.start
        y, dy = self._label(column)
        return PathPoint(time, self.start + column * velocity, velocity, y, dy, self.embed)

    def reversed(self) -> Geodesic:
        """The same particles, run from their ends to their starts."""
        return replace(self, start=self.end, end=self.start, y0=self.y1, y1=self.y0)

    def joined(self, other: Geodesic) -> Geodesic:
        """Both paths as one, each with half of the mass."""
        return replace(
            self,
            start=torch.cat([self.start, other.start]),
            end=torch.cat([self.end, other.end]),
            y0=torch.cat([self.y0, other.y0]),
            y1=torch.cat([self.y1, other.y1]),
            weights=torch.cat([self.weights, other.weights]) / 2,
        )

    def rows(self, index: Tensor) -> Geodesic:
        """Some of the particles, with their masses scaled to sum 1."""
        mass = self.weights[index]
        return replace(
            self,
            start=self.start[index],
            end=self.end[index],
            y0=self.y0[index],
            y1=self.y1[index],
            weights=mass / mass.sum(),
        )

    def length(self) -> Tensor:
        """``sqrt(sum_i w_i |T(z_i) - z_i|^2)``: W2 for an exact coupling, and the path's constant speed."""
        return (self.weights * (self.end - self.start).square().sum(dim=1)).sum().sqrt()

    def _label(self, t: Tensor) -> tuple[Tensor, Tensor]:
        y0, y1 = self.y0, self.y1
        if self.labels == "mix":
            return (1 - t) * y0 + t * y1, y1 - y0
        if self.labels == "side":
            return torch.where(t < 0.5, y0, y1), torch.zeros_like(y0)
        return y0, torch.zeros_like(y0)


def _map(transport: TransportMap | float) -> TransportMap:
    return BarycentricMap(entropy=transport) if isinstance(transport, float | int) else transport


def _require_labels(labels: str) -> None:
    if labels not in LABELS:
        raise InputError(f"labels='{labels}' is none of {', '.join(LABELS)}")


def _count(y: int | Tensor) -> int:
    return y.shape[1] if isinstance(y, Tensor) and y.dim() == 2 else int(torch.as_tensor(y).max()) + 1


def _uniform(z: Tensor) -> Tensor:
    return torch.full((len(z),), 1 / len(z), dtype=z.dtype, device=z.device)


def _labels(y: int | Tensor, count: int, num_classes: int, *, like: Tensor) -> Tensor:
    y = torch.as_tensor(y, device=like.device)
    y = y.expand(count) if y.dim() == 0 else y
    if len(y) != count:
        raise InputError(
            f"got {len(y)} labels for {count} samples; expected one for each, or one class for all"
        )
    return labelling.soft(y, num_classes, like.dtype).to(like)


def _mapped_labels(
    y: int | Tensor, z0: Tensor, transport: TransportMap, *, num_classes: int, count: int
) -> Tensor:
    """Labels of the images: one class for all, or the targets' own labels carried by the same map."""
    if not isinstance(y, Tensor) or y.dim() == 0:
        return _labels(y, len(z0), num_classes, like=z0)
    target = _labels(y, count, num_classes, like=z0)
    if bool((target == target[:1]).all()):
        return target[:1].expand(len(z0), -1)
    carry: Callable[[Tensor], Tensor] | None = getattr(transport, "carry", None)
    if carry is None:
        raise InputError(
            f"labels of several classes at the end cannot be carried by a {type(transport).__name__}, which "
            "has no carry(); give one class for all, or a BarycentricMap, EntropicMap, ExactMap or PairMap"
        )
    return carry(target)


def value_and_velocity(
    function: Callable[[Tensor], Tensor], point: Tensor, velocity: Tensor
) -> tuple[Tensor, Tensor]:
    """``f(p)`` and ``f'(p) v``, both still differentiable; 0 where ``f`` does not depend on ``p``."""
    _first_use()
    with forward_ad.dual_level():
        value, moved = forward_ad.unpack_dual(function(forward_ad.make_dual(point, velocity)))
    return value, torch.zeros_like(value) if moved is None else moved


@cache
def _first_use() -> None:
    """PyTorch loads its forward rules at the first dual number, with a deprecation warning of its own."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.simplefilter("ignore", DeprecationWarning)
        forward_ad.make_dual(torch.zeros(1), torch.zeros(1))
