"""The simplex augmenter: new samples between three or more classes at once."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from wassermix.augment.checking import Score, require_rules, require_words
from wassermix.augment.ends import TOLERANCE
from wassermix.augment.mixing import themselves
from wassermix.augment.pool import Pool
from wassermix.augment.reservoir import Reservoir
from wassermix.core import labels as labelling
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.draws import normal, permutation, uniform
from wassermix.core.errors import InputError
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.surface import SimplexGeodesic, worst_weights
from wassermix.geodesic.worst import Scorer
from wassermix.transport import solve_coupling

__all__ = ["SimplexAugmenter"]

Choice = Literal["worst", "random"]


class SimplexAugmenter:
    """Samples of a batch pulled towards several classes, at the weights where the current model is worst.

    ``ratio`` x as many new samples as real ones. At most ``pair_size`` samples of an anchor class are mapped
    to each of ``classes - 1`` others by entropic transport (``entropy`` of the mean cost) in the space of
    ``embed``; the new samples are ``sum_k w_k T_k(z)`` with the label ``sum_k w_k y_k``
    (:class:`SimplexGeodesic`), one ``w`` for an anchor and its samples. ``choice="random"`` draws ``w``
    evenly from the simplex; ``choice="worst"`` ascends from there by ``steps`` of exponentiated gradient,
    scored on a ``search_share`` of the samples under the base method's noise.

    Two classes of the batch or of the ``reservoir`` (so many remembered samples of each class, until
    :meth:`begin_epoch`) are enough: where fewer than ``classes`` are present, those are mixed.
    """

    adds: ClassVar[bool] = True
    wants_embedding: ClassVar[bool] = True
    scored_under: ClassVar[tuple[str, ...]] = ("sigma",)
    reference: ClassVar[str] = "Zhu et al. 2023, the objective over N classes"

    def __init__(
        self,
        num_classes: int,
        embed: Embedding | None = None,
        *,
        classes: int = 3,
        ratio: float = 1.0,
        pair_size: int = 64,
        entropy: float = 0.02,
        choice: Choice = "worst",
        steps: int = 3,
        score: Score = "kl",
        search_share: float = 0.25,
        reservoir: int = 32,
    ) -> None:
        self.num_classes, self.embed, self.classes = num_classes, embed, classes
        self.ratio, self.pair_size, self.entropy = ratio, pair_size, entropy
        self.choice, self.steps, self.score, self.search_share = choice, steps, score, search_share
        self.reservoir = reservoir
        self._remembered = Reservoir(reservoir, num_classes)
        _check(self)

    @property
    def passes(self) -> float:
        """Forward and backward passes that making one new sample costs."""
        return (self.steps + 1) * self.search_share if self.choice == "worst" else 0.0

    def begin_epoch(self) -> None:
        """Forget the reservoir: an epoch depends on nothing but the model and its own batches."""
        self._remembered.clear()

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        """``round(ratio * len(x))`` new samples and their soft labels ``(m, k)``, to put beside the batch.

        Soft labels count as their most probable class. Where only one class is known there is nowhere to go,
        and the samples themselves come back.
        """
        if model is None and self.choice == "worst":
            raise InputError(
                "augment: choice=worst looks for the weights where a model is worst; "
                "give a model, or use choice='random'"
            )
        scorer = None if model is None else Scorer(model, self.score, sigma)
        embed = Pixel().fit(x) if self.embed is None else self.embed
        wanted, parts = round(self.ratio * len(x)), []
        with torch.no_grad():
            z, classes = self._remembered.join(embed.encode(x), labelling.hard(y))
            pool = Pool(z, classes, self.num_classes, generator)
            if len(pool.present) < 2 or wanted == 0:
                return themselves(x, y, wanted, num_classes=self.num_classes)
            while wanted > 0:
                surface = self._surface(pool, z, embed)
                point = surface.at(self._weights(surface, scorer, generator))
                parts.append((point.x[:wanted], point.y[:wanted]))
                wanted -= len(surface)
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])

    def _surface(self, pool: Pool, z: Tensor, embed: Embedding) -> SimplexGeodesic:
        """The maps from one class, drawn from those present, to others."""
        chosen = pool.present[permutation(len(pool.present), pool.generator)][: self.classes]
        clouds = [z[pool.deal(label, self.pair_size).to(z.device)] for label in chosen.tolist()]
        home = clouds[0]
        images = [
            solve_coupling(home, cloud, self.entropy, tolerance=TOLERANCE).push(cloud) for cloud in clouds[1:]
        ]
        y = labelling.soft(chosen, self.num_classes, z.dtype).to(z)
        return SimplexGeodesic(torch.stack([home, *images]), y, embed)

    def _weights(
        self, surface: SimplexGeodesic, scorer: Scorer | None, generator: torch.Generator | None
    ) -> Tensor:
        count = len(surface.corners)
        spacing = -uniform((count,), generator, surface.corners.device).clamp_min(1e-9).log()
        drawn = spacing / spacing.sum()  # uniform on the simplex
        if self.choice == "random" or scorer is None:
            return drawn
        part = surface.rows(torch.arange(round(len(surface) * self.search_share) or 1))
        shape = tuple(part.at(drawn).x.shape)
        noise = normal(shape, generator, surface.corners.device) if scorer.sigma > 0 else None
        with evaluating(scorer.model), frozen(scorer.model):
            return worst_weights(part, lambda x, y: scorer(x, y, noise), steps=self.steps, start=drawn)[0]


def _check(augment: SimplexAugmenter) -> None:
    """Refuse settings that cannot mean anything, each with its own sentence."""
    require_words(augment, {"choice": Choice, "score": Score})
    rules = {
        f"num_classes is at least 2; got {augment.num_classes}": augment.num_classes >= 2,
        f"classes is at least 2; got {augment.classes}": augment.classes >= 2,
        f"ratio is not negative; got {augment.ratio}": augment.ratio >= 0,
        f"pair_size is at least 1; got {augment.pair_size}": augment.pair_size >= 1,
        f"entropy is positive; got {augment.entropy}": augment.entropy > 0,
        f"steps is at least 1; got {augment.steps}": augment.steps >= 1,
        f"search_share is within (0, 1]; got {augment.search_share}": 0 < augment.search_share <= 1,
    }
    require_rules(rules)
