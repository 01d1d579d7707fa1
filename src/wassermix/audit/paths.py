"""The path between two classes, by the pairing asked for."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core import labels
from wassermix.core.errors import InputError
from wassermix.embed import Embedding
from wassermix.geodesic.path import Geodesic
from wassermix.transport import solve_coupling, solve_exact

__all__ = ["class_path", "random_plan"]


def class_path(
    x0: Tensor,
    x1: Tensor,
    classes: tuple[int, int] = (0, 1),
    *,
    embed: Embedding,
    pairing: str = "exact",
    entropy: float = 0.02,
    generator: torch.Generator | None = None,
) -> Geodesic:
    """The path from samples ``x0 (n, ...)`` of one class to ``x1 (m, ...)`` of another.

    ``exact``: the W2 geodesic, one particle for each entry of the optimal plan. ``entropic``: each sample
    goes to its barycentric image under the entropic plan. ``random``: one particle for each entry of a
    random plan, drawn with ``generator``; both ends keep their samples at equal masses.
    """
    z0, z1 = embed.encode(x0), embed.encode(x1)
    first, last = classes
    num_classes = max(classes) + 1
    if pairing == "both":
        raise InputError("audit: pairing 'both' is two audits; ask for exact and for random one by one")
    if pairing == "exact":
        coupling = solve_exact(z0, z1)
        return Geodesic.from_coupling(
            z0, z1, coupling, y0=first, y1=last, embed=embed, num_classes=num_classes
        )
    if pairing == "entropic":
        start, end = z0, solve_coupling(z0, z1, entropy).push(z1)
        weights = torch.full_like(z0[:, 0], 1 / len(z0))
    else:
        source, target, weights = random_plan(len(z0), len(z1), generator=generator)
        start, end, weights = z0[source.to(z0.device)], z1[target.to(z1.device)], weights.to(z0)
    y0, y1 = (labels.soft(torch.full((len(start),), c), num_classes).to(z0) for c in classes)
    return Geodesic(start, end, y0, y1, weights=weights, embed=embed)


def random_plan(n: int, m: int, *, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """A random plan between ``n`` and ``m`` points of equal mass: sources, targets and masses ``(k,)``.

    Sources in their order and targets in a random one are laid side by side on [0, 1]: at most ``n + m - 1``
    entries, a random pairing where ``n = m``.
    """
    ends = torch.cat([torch.arange(n + 1) * m, torch.arange(1, m) * n]).unique()  # in units of 1 / (n m)
    start = ends[:-1]
    return start // m, torch.randperm(m, generator=generator)[start // n], ends.diff() / (n * m)
