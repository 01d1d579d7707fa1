"""Geodesics between classes in a hidden layer: for encoders that have no decoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn

from wassermix.augment.manifold import find_layer, require_one_call
from wassermix.core import labels as labelling
from wassermix.core.draws import permutation, uniform
from wassermix.core.errors import InputError
from wassermix.transport import solve_coupling

__all__ = ["FeatureGeodesic"]


class FeatureGeodesic:
    """Each class moved towards another along its geodesic in a hidden layer, the rest of the network on top.

    ``with augment.on(model, x, y) as target: logits = model(x)``: inside, ``layer`` returns
    ``(1-t) h + t T(h)`` with one ``t`` from U[0, ``t_max``] and ``T`` the barycentric projection, inside the
    batch, from each class to the next in a random cycle of the classes present; ``target`` is mixed alike.
    The plan is held fixed; gradients flow through both ends.
    """

    adds: ClassVar[bool] = False
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "Zhu et al. 2023, section 3.3"

    def __init__(
        self, *, num_classes: int, layer: str = "stage2", t_max: float = 0.5, entropy: float = 0.02
    ) -> None:
        if not 0 < t_max <= 1 or entropy <= 0:
            raise InputError("augment: t_max is within (0, 1] and entropy positive")
        self.num_classes, self.layer, self.t_max, self.entropy = num_classes, layer, t_max, entropy

    @contextmanager
    def on(
        self, model: nn.Module, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Iterator[Tensor]:
        """Move the features of one forward of all samples while inside; gives the mixed labels."""
        module = find_layer(model, self.layer, "FeatureGeodesic")
        kinds = labelling.hard(y)
        t = self.t_max * float(uniform((), generator, torch.device("cpu")))
        present = kinds.unique()
        cycle = present[permutation(len(present), generator).to(present.device)]
        moves = list(zip(cycle.tolist(), cycle.roll(-1).tolist()))
        calls = []

        def move(_module: nn.Module, _args: object, hidden: Tensor) -> Tensor:
            calls.append(len(hidden))
            return self._moved(hidden, kinds, moves, t)

        handle = module.register_forward_hook(move)
        try:
            yield self._targets(labelling.soft(y, self.num_classes, x.dtype), kinds, moves, t)
        finally:
            handle.remove()
        require_one_call("FeatureGeodesic", self.layer, len(calls))

    def _moved(self, hidden: Tensor, kinds: Tensor, moves: list[tuple[int, int]], t: float) -> Tensor:
        if len(hidden) != len(kinds):
            raise InputError(
                f"augment: {len(hidden)} samples passed '{self.layer}', {len(kinds)} were announced"
            )
        flat = hidden.reshape(len(hidden), -1)
        image = flat
        for source, target in moves:
            rows0, rows1 = (kinds == source).nonzero()[:, 0], (kinds == target).nonzero()[:, 0]
            plan = solve_coupling(
                flat[rows0].detach(), flat[rows1].detach(), self.entropy, tolerance=1e-3
            ).plan
            share = plan / plan.sum(dim=1, keepdim=True)
            image = image.index_copy(0, rows0, share.to(flat) @ flat[rows1])
        return ((1 - t) * flat + t * image).reshape(hidden.shape)

    def _targets(self, y: Tensor, kinds: Tensor, moves: list[tuple[int, int]], t: float) -> Tensor:
        end = torch.zeros(self.num_classes, dtype=torch.int64, device=kinds.device)
        for source, target in moves:
            end[source] = target
        return (1 - t) * y + t * labelling.soft(end[kinds], self.num_classes, y.dtype)
