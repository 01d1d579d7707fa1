"""Where each sample of one class goes in another: by optimal transport, exact or blurred, or simply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from wassermix.augment.bundle import Problem
from wassermix.augment.pool import Pool
from wassermix.transport import EntropicMap, assign, solve_coupling, squared_distances

__all__ = ["Ends", "Maps", "Pairing"]

Pairing = Literal["exact", "entropic", "random", "nearest", "transport"]
"""``transport`` is the earlier word for ``entropic``."""
Maps = Literal["batch", "class"]
TOLERANCE = 1e-3
"""L1 error of the plans' marginals: an augmentation needs no more."""
MAP_SIZE = 1000
"""A stored map is fitted on at most so many samples of each class."""


@dataclass(frozen=True)
class Ends:
    """The rule by which samples get their ends.

    ``exact``: the optimal assignment, one partner for each sample; between classes of different sizes each
    draws one of its targets in proportion to the optimal plan. ``entropic``: the barycentric projection of
    the plan blurred by ``entropy`` (of the mean cost), which contracts the target class. ``random``: as they
    are dealt. ``nearest``: the nearest sample of the other class, however many others go there too.

    ``maps="class"`` fits one entropic map for each pair on whole classes, debiased where ``exact`` is asked,
    and applies it to new samples.
    """

    pairing: Pairing
    entropy: float
    maps: Maps
    _class_maps: dict[tuple[int, int], EntropicMap] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop the maps that were learnt from another source."""
        self._class_maps.clear()

    def find(
        self, pool: Pool, z0: Tensor, z1: Tensor, problems: list[Problem], *, both: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The images of ``z0 (b, n, d)`` among ``z1 (b, m, d)``, and with ``both`` the way back."""
        if self.maps == "class" and self.pairing != "random":
            there = [self._class_map(pool, p.c0, p.c1).map(z) for z, p in zip(z0, problems)]
            back = [self._class_map(pool, p.c1, p.c0).map(z) for z, p in zip(z1, problems)] if both else None
            return torch.stack(there), None if back is None else torch.stack(back)
        if self.pairing in ("entropic", "transport"):
            coupling = solve_coupling(z0, z1, self.entropy, tolerance=TOLERANCE)
            return coupling.push(z1), coupling.pull(z0) if both else None
        partners, inverse = self._partners(z0, z1, pool.generator)
        return _rows(z1, partners), _rows(z0, inverse) if both else None

    def _partners(self, z0: Tensor, z1: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """One partner for each sample, both ways: ``(b, n), (b, m)``."""
        (count, n), m = z0.shape[:2], z1.shape[1]
        if self.pairing == "random":  # dealt in random order already
            order = torch.arange(max(n, m), device=z0.device)
            return (order[:n] % m).expand(count, n), (order[:m] % n).expand(count, m)
        if self.pairing == "nearest":
            apart = squared_distances(z0, z1)
            return apart.argmin(dim=2), apart.argmin(dim=1)
        partners = assign(z0, z1, generator=generator)
        return partners, partners.argsort(dim=1) if n == m else assign(z1, z0, generator=generator)

    def _class_map(self, pool: Pool, c0: int, c1: int) -> EntropicMap:
        if (c0, c1) not in self._class_maps:
            clouds = [pool.latents[pool.sample(c, MAP_SIZE, "map", c0, c1)] for c in (c0, c1)]
            fresh = EntropicMap(entropy=self.entropy, tolerance=TOLERANCE, debiased=self.pairing == "exact")
            self._class_maps[c0, c1] = fresh.fit(*clouds)
        return self._class_maps[c0, c1]


def _rows(z: Tensor, index: Tensor) -> Tensor:
    """``z (b, m, d)`` at ``index (b, n)``: ``(b, n, d)``."""
    return z.gather(1, index[:, :, None].expand(-1, -1, z.shape[2]))
