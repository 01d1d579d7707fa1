"""Geodesics between classes in a hidden layer: for encoders that have no decoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from wassermix.augment.checking import require_rules, require_words
from wassermix.augment.manifold import find_layer, require_one_call
from wassermix.core import labels as labelling
from wassermix.core.classifier import evaluating
from wassermix.core.draws import permutation, uniform
from wassermix.core.errors import InputError
from wassermix.transport import assign, solve_coupling

__all__ = ["FeatureGeodesic"]

Pairing = Literal["exact", "entropic", "random"]
Choice = Literal["random", "worst"]
Moves = list[tuple[int, int]]
"""From which class to which."""


class FeatureGeodesic:
    """Each class moved towards another along its geodesic in a hidden layer, the rest of the network on top.

    ``with augment.on(model, x, y) as target: logits = model(x)``: inside, ``layer`` returns
    ``(1-t) h + t T(h)`` with one ``t`` from U[0, ``t_max``] and ``T``, inside the batch, from each class to
    the next in a random cycle of the classes present; ``target`` is mixed alike. ``pairing`` says what ``T``
    is: the barycentric projection of the ``entropic`` plan, ``exact`` partners, or ``random`` ones (in the
    order of the batch). It is held fixed; gradients flow through both ends. ``choice="worst"`` takes of
    ``candidates`` times, ``t_max`` among them, the one where the model is worst by KL.
    """

    adds: ClassVar[bool] = False
    reference: ClassVar[str] = "Zhu et al. 2023, section 3.3"

    def __init__(
        self,
        *,
        num_classes: int,
        layer: str = "stage2",
        t_max: float = 0.5,
        entropy: float = 0.02,
        pairing: Pairing = "entropic",
        choice: Choice = "random",
        candidates: int = 5,
    ) -> None:
        self.num_classes, self.layer, self.t_max, self.entropy = num_classes, layer, t_max, entropy
        self.pairing, self.choice, self.candidates = pairing, choice, candidates
        require_words(self, {"pairing": Pairing, "choice": Choice})
        rules = {
            f"t_max is within (0, 1]; got {t_max}": 0 < t_max <= 1,
            f"entropy is positive; got {entropy}": entropy > 0,
            f"candidates is at least 1; got {candidates}": candidates >= 1,
        }
        require_rules(rules)

    @property
    def passes(self) -> float:
        """A forward for each time that is tried; a forward is a third of a pass."""
        return self.candidates / 3 if self.choice == "worst" else 0.0

    @contextmanager
    def on(
        self, model: nn.Module, x: Tensor, y: Tensor, *, generator: torch.Generator | None = None
    ) -> Iterator[Tensor]:
        """Move the features of one forward of all samples while inside; gives the mixed labels."""
        module = find_layer(model, self.layer, "FeatureGeodesic")
        classes = labelling.hard(y)
        t = self.t_max * float(uniform((), generator, torch.device("cpu")))
        present = classes.unique()
        cycle = present[permutation(len(present), generator).to(present.device)]
        moves = list(zip(cycle.tolist(), cycle.roll(-1).tolist()))
        soft = labelling.soft(y, self.num_classes, x.dtype)
        if self.choice == "worst":
            drawn = self.t_max * uniform((self.candidates - 1,), generator, torch.device("cpu"))
            scores = {s: self._score(model, module, x, soft, moves, s) for s in (*drawn.tolist(), self.t_max)}
            t = max(scores, key=lambda s: scores[s])
        with self._moving(module, classes, moves, t) as calls:
            yield self._targets(soft, classes, moves, t)
        require_one_call("FeatureGeodesic", self.layer, len(calls))

    @contextmanager
    def _moving(self, module: nn.Module, classes: Tensor, moves: Moves, t: float) -> Iterator[list[int]]:
        """The layer returns moved features inside; the list counts the samples of each call."""
        calls: list[int] = []

        def move(_module: nn.Module, _args: object, hidden: Tensor) -> Tensor:
            calls.append(len(hidden))
            with torch.autocast(hidden.device.type, enabled=False):  # pairs and plans compute in float32
                return self._moved(hidden.float(), classes, moves, t).to(hidden.dtype)

        handle = module.register_forward_hook(move)
        try:
            yield calls
        finally:
            handle.remove()

    @torch.no_grad()
    def _score(
        self,
        model: nn.Module,
        module: nn.Module,
        x: Tensor,
        y: Tensor,
        moves: Moves,
        t: float,
    ) -> float:
        """How bad the model is at one time."""
        classes = labelling.hard(y)
        with evaluating(model), self._moving(module, classes, moves, t):
            return float(labelling.kl_score(model(x), self._targets(y, classes, moves, t)).mean())

    def _moved(self, hidden: Tensor, classes: Tensor, moves: Moves, t: float) -> Tensor:
        if len(hidden) != len(classes):
            raise InputError(
                f"augment: {len(hidden)} samples passed '{self.layer}', {len(classes)} were announced"
            )
        flat = hidden.reshape(len(hidden), -1)
        image = flat
        for source, target in moves:
            rows0, rows1 = (classes == source).nonzero()[:, 0], (classes == target).nonzero()[:, 0]
            image = image.index_copy(0, rows0, self._image(flat[rows0], flat[rows1]))
        return ((1 - t) * flat + t * image).reshape(hidden.shape)

    def _image(self, home: Tensor, other: Tensor) -> Tensor:
        """Where each row of ``home (n, d)`` goes among those of ``other (m, d)``."""
        if self.pairing == "random":
            return other[torch.arange(len(home), device=home.device) % len(other)]
        if self.pairing == "exact":
            return other[assign(home.detach(), other.detach())]
        plan = solve_coupling(home.detach(), other.detach(), self.entropy, tolerance=1e-3).plan
        return (plan / plan.sum(dim=1, keepdim=True)).to(home) @ other

    def _targets(self, y: Tensor, classes: Tensor, moves: Moves, t: float) -> Tensor:
        end = torch.zeros(self.num_classes, dtype=torch.int64, device=classes.device)
        for source, target in moves:
            end[source] = target
        return (1 - t) * y + t * labelling.soft(end[classes], self.num_classes, y.dtype)
