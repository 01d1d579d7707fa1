"""Between more than two classes: the generalised geodesic with weights on the simplex."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from wassermix.core import labels as labelling
from wassermix.core.errors import InputError
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.path import PathPoint
from wassermix.transport import BarycentricMap, TransportMap, cloud_barycenter

__all__ = ["SimplexGeodesic", "worst_weights"]


@dataclass(frozen=True, eq=False)
class SimplexGeodesic:
    """Samples of an anchor class, pulled towards ``N`` classes at once.

    ``z_w = sum_k w_k T_k(z)`` with ``T_k`` the map from the anchor to class ``k`` (the identity for itself)
    and the label ``sum_k w_k y_k``. Between two classes this is the geodesic. For more it is the generalised
    geodesic based at the anchor, which is the W2 barycenter only where the maps are compatible (one
    dimension, commuting Gaussians). ``exact`` moves it on to the free-support barycenter itself, at the price
    of some exact transport problems for each point and without derivatives in the weights.
    """

    corners: Tensor
    """``T_k(z)``, ``(classes, n, d)``."""
    y: Tensor
    """Soft labels of the corners ``(classes, k)``."""
    embed: Embedding
    anchor: int = 0
    clouds: tuple[Tensor, ...] = ()
    """All latents by class, where the barycenter is exact."""

    @classmethod
    def fit(
        cls,
        xs: Sequence[Tensor],
        ys: Sequence[int],
        *,
        embed: Embedding | None = None,
        anchor: int = 0,
        transport: TransportMap | None = None,
        entropy: float = 0.02,
        num_classes: int | None = None,
        exact: bool = False,
    ) -> SimplexGeodesic:
        """Maps from ``xs[anchor]`` to every other ``xs[k] (n_k, *shape)`` of class ``ys[k]``."""
        if len(xs) != len(ys) or len(xs) < 2 or not 0 <= anchor < len(xs):
            raise InputError(
                f"a simplex needs two or more classes, one label each, and one of them as anchor; "
                f"got {len(xs)} classes, {len(ys)} labels and anchor {anchor}"
            )
        if min(map(len, xs)) == 0:
            raise InputError(f"a simplex needs samples of each class; got {[len(x) for x in xs]}")
        embed = Pixel().fit(xs[0][:1]) if embed is None else embed
        transport = BarycentricMap(entropy=entropy) if transport is None else transport
        clouds = tuple(embed.encode(x) for x in xs)
        home = clouds[anchor]
        corners = [
            home if k == anchor else _image(copy.deepcopy(transport), home, cloud)
            for k, cloud in enumerate(clouds)
        ]
        count = num_classes or max(ys) + 1
        y = labelling.soft(torch.tensor(list(ys)), count, home.dtype).to(home)
        return cls(torch.stack(corners), y, embed, anchor, clouds if exact else ())

    def __len__(self) -> int:
        return self.corners.shape[1]

    def rows(self, rows: Tensor) -> SimplexGeodesic:
        """The same surface for some of the anchor's samples."""
        return replace(self, corners=self.corners[:, rows])

    def at(self, weights: Tensor) -> PathPoint:
        """The point at ``weights (classes,)``, or ``(n, classes)`` one for each sample; they sum to 1.

        The velocities are those of the straight way from the anchor's own samples to this point.
        """
        classes, total = len(self.corners), weights.sum(dim=-1)
        if weights.shape[-1] != classes or not bool(((total - 1).abs() < 1e-4).all()):
            raise InputError(
                f"weights: got shape {tuple(weights.shape)} with a mean sum of {float(total.mean()):.3g}; "
                f"expected {classes} for each sample, which sum to 1"
            )
        w = weights.to(self.corners).expand(len(self), len(self.corners))
        z = torch.einsum("nc,cnd->nd", w, self.corners)
        if self.clouds:
            z = cloud_barycenter(self.clouds, weights.detach().float(), start=z.detach()).points
        y, home = w @ self.y, self.corners[self.anchor]
        return PathPoint(weights, z, z - home, y, y - self.y[self.anchor], self.embed)


def _image(transport: TransportMap, home: Tensor, cloud: Tensor) -> Tensor:
    transport.fit(home, cloud)
    return transport.map(home)


def worst_weights(
    surface: SimplexGeodesic,
    score: Callable[[Tensor, Tensor], Tensor],
    *,
    steps: int = 10,
    rate: float = 1.0,
    start: Tensor | None = None,
) -> tuple[Tensor, float]:
    """The weights where the mean of ``score(x, y) -> (n,)`` is largest, by exponentiated gradient ascent.

    ``w_k <- w_k exp(rate g_k / max|g|)``, normalised: stays inside the simplex. The best point seen wins.
    """
    if surface.clouds:
        raise InputError("worst_weights needs derivatives in the weights; fit the simplex without exact=True")
    count = len(surface.corners)
    w = torch.full((count,), 1 / count) if start is None else start / start.sum()
    best, top = w, -torch.inf
    for step in range(steps + 1):
        w = w.detach().to(surface.corners).requires_grad_()
        with torch.enable_grad():
            point = surface.at(w)
            value = score(point.x, point.y).mean()
            slope = torch.autograd.grad(value, w)[0]
        if float(value.detach()) > top:
            best, top = w.detach(), float(value.detach())
        move = slope - slope.mean()
        w = (w.detach().log() + rate / (1 + step) * move / move.abs().max().clamp_min(1e-12)).softmax(dim=0)
    return best, top
