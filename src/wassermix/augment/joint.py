"""Geodesics between samples of all classes at once, under the paper's cost on samples and labels together."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Generator, Tensor

from wassermix.augment.checking import require_rules, require_words
from wassermix.augment.mixing import soft_labels, themselves
from wassermix.core.classifier import Classifier
from wassermix.core.draws import permutation, uniform
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.path import Geodesic, PathPoint
from wassermix.transport import BarycentricMap, ExactMap, PairMap, TransportMap

__all__ = ["JointGeodesic"]

Pairing = Literal["exact", "entropic", "random"]


class JointGeodesic:
    """New samples between two halves of a batch, whatever their classes, at drawn times.

    One half is transported to the other at the cost ``|z0 - z1|^2 + label_weight |y0 - y1|^2 / 2`` in the
    space of ``embed`` (:meth:`Geodesic.joint`), and back: a small weight lets samples change class where that
    is the shortest way, a large one keeps them inside. Position and label at a time from U[0, ``t_max``].
    """

    adds: ClassVar[bool] = True
    wants_embedding: ClassVar[bool] = True
    passes: ClassVar[float] = 0.0
    reference: ClassVar[str] = "Zhu et al. 2023, the distance on samples and labels"

    def __init__(
        self,
        num_classes: int,
        embed: Embedding | None = None,
        *,
        ratio: float = 1.0,
        label_weight: float = 1.0,
        pairing: Pairing = "exact",
        entropy: float = 0.02,
        t_max: float = 0.5,
    ) -> None:
        self.num_classes, self.embed, self.ratio, self.label_weight = num_classes, embed, ratio, label_weight
        self.pairing, self.entropy, self.t_max = pairing, entropy, t_max
        require_words(self, {"pairing": Pairing})
        rules = {
            f"ratio is not negative; got {ratio}": ratio >= 0,
            f"label_weight is positive; got {label_weight}": label_weight > 0,
            f"entropy is positive; got {entropy}": entropy > 0,
            f"t_max is within (0, 1]; got {t_max}": 0 < t_max <= 1,
        }
        require_rules(rules)

    @torch.no_grad()
    def __call__(
        self, x: Tensor, y: Tensor, *, model: Classifier | None = None, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """``round(ratio * len(x))`` new samples and soft labels; the model is not asked."""
        wanted, half = round(self.ratio * len(x)), len(x) // 2
        if half == 0 or wanted == 0:
            return themselves(x, y, wanted, num_classes=self.num_classes)
        target, embed = soft_labels(y, self.num_classes, x.dtype), self.embed or Pixel().fit(x)
        points: list[PathPoint] = []
        while wanted > sum(len(point.y) for point in points):
            order = permutation(len(x), generator).to(x.device)
            first, second = order[:half], order[half : 2 * half]
            path = Geodesic.joint(
                x[first],
                x[second],
                target[first],
                y1=target[second],
                label_weight=self.label_weight,
                embed=embed,
                transport=self._map(),
            )
            for way in (path, path.reversed()):
                points.append(way.at(self.t_max * uniform((half,), generator, x.device).to(x)))
        return torch.cat([p.x for p in points])[:wanted], torch.cat([p.y for p in points])[:wanted]

    def _map(self) -> TransportMap:
        if self.pairing == "random":
            return PairMap()
        return ExactMap() if self.pairing == "exact" else BarycentricMap(entropy=self.entropy)
