"""The geodesic augmenter: new samples at the worst time on paths between classes (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.bundle import Bundle, Part, Problem, join_parts, worst_targets
from wassermix.augment.checking import Choice, Mode, Scope, Score, check_geodesic
from wassermix.augment.ends import Ends, Maps, Pairing
from wassermix.augment.mixing import themselves
from wassermix.augment.pool import (
    Latents,
    Pairs,
    Pool,
    confusion_weights,
    near_weights,
    nearest_weights,
    require_pairs,
    require_samples,
    uniform_weights,
)
from wassermix.augment.reservoir import Reservoir
from wassermix.augment.stored import AugmentedSet, SetWriter
from wassermix.core import labels as labelling
from wassermix.core.classifier import Classifier
from wassermix.core.draws import permutation, uniform
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples, TensorSamples
from wassermix.embed import Embedding, Pixel
from wassermix.geodesic.path import Labels
from wassermix.geodesic.worst import Scorer, Search, place, search_passes, worst_times

__all__ = ["GeodesicAugmenter"]

Attack = Callable[[Classifier, Tensor, Tensor], Tensor]
CHUNK_ROWS = 8192


class GeodesicAugmenter:
    """Samples on Wasserstein geodesics between classes, at the time where the current model is worst.

    ``ratio`` x as many new samples as real ones. A path joins ``pair_size`` samples of one class with as many
    of another in the space of ``embed``, sample by sample as ``pairing`` says (:class:`Ends`); with ``both``
    each problem serves both ways. Its time in [0, ``t_max``] is the worst of ``candidates`` by ``score``,
    searched on a ``search_share`` of the samples that share it: ``scope`` is one OT problem (the paper's
    ``batch``; each way has its own time), a class ``pair`` (among the some thousand samples that are made at
    once), or each ``sample`` alone. Labels as in :class:`Geodesic`.

    Classes pair up evenly (``uniform``), by the model's ``confusion``, by ``near``-ness in W2, or each with
    its ``nearest`` alone; ``target_classes`` > 1 tries that many targets per source and keeps the worst, one
    way only whatever ``both`` says. ``max_distance`` bounds each sample's move in l2. ``maps="class"`` fits
    one map for each pair on whole classes (at most 1000 samples of each) and applies it to new samples,
    instead of an OT problem for each batch. In the first share ``warm_up`` of training times are drawn, not
    searched: an untrained model is worst where a path begins.

    With an adversarial base method the search scores attacked samples, which costs its steps for every
    candidate; ``attacked=False`` scores clean ones.

    Controls: ``choice="random"`` draws the time, ``choice="fixed"`` takes ``time`` (0: reconstruction only);
    ``pairing="random"`` joins random pairs (mixup between classes in the same space), ``nearest`` each sample
    with the nearest one of the other class.

    ``mode="stored"``: :meth:`make_set` every ``refresh`` epochs. ``mode="online"``: call it on a batch;
    ``reservoir`` > 0 remembers so many samples of each class as further sources and targets, until
    :meth:`begin_epoch`.
    """

    adds: ClassVar[bool] = True
    wants_embedding: ClassVar[bool] = True
    reference: ClassVar[str] = "Zhu et al. 2023, Algorithm 1"

    def __init__(
        self,
        num_classes: int,
        embed: Embedding | None = None,
        *,
        ratio: float = 1.0,
        pair_size: int = 64,
        entropy: float = 0.02,
        candidates: int = 5,
        t_max: float = 0.5,
        search: Search = "random",
        score: Score = "kl",
        scope: Scope = "batch",
        search_share: float = 0.25,
        labels: Labels = "mix",
        both: bool = True,
        refresh: int = 1,
        pairs: Pairs = "uniform",
        max_distance: float | None = None,
        target_classes: int = 1,
        choice: Choice = "worst",
        time: float = 0.0,
        pairing: Pairing = "exact",
        maps: Maps = "batch",
        reservoir: int = 0,
        mode: Mode = "stored",
        attacked: bool = True,
        warm_up: float = 0.1,
    ) -> None:
        self.num_classes, self.embed = num_classes, embed
        self.ratio, self.pair_size, self.entropy = ratio, pair_size, entropy
        self.candidates, self.t_max, self.search = candidates, t_max, search
        self.score, self.scope, self.search_share = score, scope, search_share
        self.labels, self.both, self.refresh, self.pairs = labels, both, refresh, pairs
        self.max_distance, self.target_classes = max_distance, target_classes
        self.choice, self.time, self.pairing, self.maps = choice, time, pairing, maps
        self.reservoir, self.mode, self.attacked, self.warm_up = reservoir, mode, attacked, warm_up
        self._latents: Latents | None = None
        self._ends = Ends(pairing, entropy, maps)
        self._near: Tensor | None = None
        self._remembered = Reservoir(reservoir, num_classes)
        check_geodesic(self)

    @property
    def passes(self) -> float:
        """Forward and backward passes that making one new sample costs (a forward is a third of one)."""
        if self.choice != "worst":
            return 0.0
        share = 1.0 if self.scope == "sample" else self.search_share
        return search_passes(self.search, self.candidates) * share * self.target_classes

    def passes_at(self, trained: float, /) -> float:
        """:attr:`passes` at this share of training: 0 while times are drawn."""
        return 0.0 if trained < self.warm_up else self.passes

    @property
    def stored(self) -> bool:
        """Whether a set stands beside the training split, instead of new samples beside each batch."""
        return self.mode == "stored"

    @property
    def scored_under(self) -> tuple[str, ...]:
        """The method's noise, how far training is, and the method's attack where times are searched."""
        attacked = self.attacked and self.choice == "worst"
        return ("sigma", "trained", "attack") if attacked else ("sigma", "trained")

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        attack: Attack | None = None,
        trained: float = 1.0,
    ) -> tuple[Tensor, Tensor]:
        """``round(ratio * len(x))`` new samples and their soft labels ``(m, k)``, to put beside the batch.

        Soft labels count as their most probable class. Where only one class is known there is nowhere to go,
        and the samples themselves come back. The worst time and pairs by confusion need a model; ``trained``
        is the share of its training that it has behind it.
        """
        if self.maps == "class":
            raise InputError("augment: maps=class needs whole classes: use make_set, or maps='batch'")
        scorer = self._scorer(model, sigma, attack, trained)
        embed = Pixel().fit(x) if self.embed is None else self.embed
        classes = labelling.hard(y)
        with torch.no_grad():
            z = embed.encode(x)
        pool = Pool(*self._remembered.join(z, classes), self.num_classes, generator)
        wanted = round(self.ratio * len(x))
        if len(pool.present) < 2 or wanted == 0:
            return themselves(x, y, wanted, num_classes=self.num_classes)
        weights = self._weights(pool, TensorSamples(x, classes), model)
        with torch.no_grad():
            parts = [
                place(made.path, t, self.max_distance)[:2]
                for made, t in self._make(pool, weights, wanted, embed=embed, scorer=scorer)
            ]
        return torch.cat([p[0] for p in parts])[:wanted], torch.cat([p[1] for p in parts])[:wanted]

    @torch.no_grad()
    def make_set(
        self,
        source: LabelledSamples,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        attack: Attack | None = None,
        trained: float = 1.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> AugmentedSet:
        """``round(ratio * len(source))`` new samples, worst for ``model`` under noise ``sigma``.

        The source's latents are encoded at the first call and kept for the next ones.
        """
        scorer = self._scorer(model, sigma, attack, trained)
        embed, latents = self._prepared(source)
        pool = Pool(latents, source.y, self.num_classes, generator)
        require_pairs(pool, "augment")
        stored = SetWriter(round(self.ratio * len(source)), latents.shape)
        weights = self._weights(pool, source, model)
        for made, t in self._make(pool, weights, stored.wanted, embed=embed, scorer=scorer):
            x, _, times = place(made.path, t, self.max_distance)
            stored.write(x, times, made.class0, made.class1)
            if progress is not None:
                progress(stored.done, stored.wanted)
        return stored.finish(self.num_classes, self.labels)

    @torch.no_grad()
    def fill_classes(
        self, source: LabelledSamples, wanted: Tensor, *, generator: torch.Generator | None = None
    ) -> AugmentedSet:
        """``wanted[c]`` new samples that leave class ``c``, at drawn times: for balancing classes.

        No model is asked, so ``choice="worst"`` draws too; none are made on the way back.
        """
        embed, latents = self._prepared(source)
        pool = Pool(latents, source.y, self.num_classes, generator)
        require_pairs(pool, "augment")
        require_samples(pool, wanted)
        weights, stored = self._weights(pool, source, None), SetWriter(int(wanted.sum()), latents.shape)
        for label in wanted.nonzero()[:, 0].tolist():
            only = weights * (torch.arange(len(weights)) == label)[:, None]
            count = int(wanted[label])
            for made, t in self._make(pool, only, count, embed=embed, scorer=None, one_way=True):
                x, _, times = place(made.path, t, self.max_distance)
                kept = slice(0, count)
                stored.write(x[kept], times[kept], made.class0[kept], made.class1[kept])
                count -= len(t)
        return stored.finish(self.num_classes, self.labels)

    def begin_epoch(self) -> None:
        """Forget the reservoir: an epoch depends on nothing but the model and its own batches."""
        self._remembered.clear()

    def load_set(self, path: Path) -> AugmentedSet:
        """A set that was saved before."""
        return AugmentedSet.load(path)

    def _prepared(self, source: LabelledSamples) -> tuple[Embedding, Latents]:
        """The embedding and the source's latents, encoded once; what was learnt from another source goes."""
        if self._latents is None or self._latents.source is not source:
            embed = Pixel().fit(source.get(torch.arange(1))) if self.embed is None else self.embed
            self._latents, self._near = Latents(source, embed), None
            self._ends.forget()
        return self._latents.embed, self._latents

    def _scorer(
        self, model: Classifier | None, sigma: float, attack: Attack | None, trained: float
    ) -> Scorer | None:
        if model is None and self.choice == "worst":
            raise InputError(
                "augment: choice=worst looks for the time where a model is worst; "
                "give a model, or use choice='random'"
            )
        drawn = model is None or trained < self.warm_up
        return None if drawn or model is None else Scorer(model, self.score, sigma, attack)

    def _weights(self, pool: Pool, source: LabelledSamples, model: Classifier | None) -> Tensor:
        if self.pairs == "confusion":
            if model is None:
                raise InputError(
                    "augment: pairs=confusion asks a model which classes it mistakes; "
                    "give a model, or use pairs='uniform' or 'near'"
                )
            return confusion_weights(pool, source, model)
        if self.pairs in ("near", "nearest"):
            weigh = near_weights if self.pairs == "near" else nearest_weights
            if pool.latents is not self._latents:  # a batch, which may lack classes that the next one has
                return weigh(pool, self.entropy)
            if self._near is None:
                self._near = weigh(pool, self.entropy)
            return self._near
        return uniform_weights(pool)

    def _make(
        self,
        pool: Pool,
        weights: Tensor,
        wanted: int,
        *,
        embed: Embedding,
        scorer: Scorer | None,
        one_way: bool = False,
    ) -> Iterator[tuple[Bundle, Tensor]]:
        """Paths with their times, some thousand samples at once, until there are ``wanted``."""
        both = self.both and self.target_classes == 1 and not one_way
        problems = pool.problems(weights, self.pair_size, wanted, both=both)
        count = max(1, CHUNK_ROWS // (self.pair_size * (1 + both) * self.target_classes))
        while chunk := list(islice(problems, count)):
            dealt = [p for c0, c1 in chunk for p in self._dealt(pool, weights, c0, c1)]
            made = self._paths(pool, dealt, embed=embed, both=both)
            t, scores = self._times(made, scorer, pool.generator)
            yield (made, t) if self.target_classes == 1 else worst_targets(made, t, scores, len(chunk))

    def _dealt(self, pool: Pool, weights: Tensor, c0: int, c1: int) -> list[Problem]:
        """One problem, or the same source with several target classes."""
        rows = pool.deal(c0, self.pair_size)
        targets = [c1]
        if self.target_classes > 1:
            others = weights[c0].nonzero()[:, 0]
            others = others[others != c1][permutation(int((others != c1).sum()), pool.generator)]
            targets += others[: self.target_classes - 1].tolist()
        return [Problem(rows, pool.deal(c, self.pair_size), c0, c) for c in targets]

    def _paths(self, pool: Pool, problems: list[Problem], *, embed: Embedding, both: bool) -> Bundle:
        """All problems of one size are solved in one call."""
        sizes: dict[tuple[int, int], list[int]] = {}
        for number, problem in enumerate(problems):
            sizes.setdefault((len(problem.rows0), len(problem.rows1)), []).append(number)
        parts: list[Part] = []
        for numbers in sizes.values():
            same = [problems[number] for number in numbers]
            z0 = pool.latents[torch.stack([p.rows0 for p in same])]
            z1 = pool.latents[torch.stack([p.rows1 for p in same])]
            there, back = self._ends.find(pool, z0, z1, same, both=both)
            parts.append(Part(z0, there, [(p.c0, p.c1) for p in same], numbers))
            if back is not None:
                parts.append(Part(z1, back, [(p.c1, p.c0) for p in same], [-1 - n for n in numbers]))
        return join_parts(parts, embed, num_classes=self.num_classes, labels=self.labels)

    def _times(
        self, made: Bundle, scorer: Scorer | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """A time for each sample, and the score that chose it (0 where nothing was scored)."""
        group, start = self._groups(made), made.path.start
        groups, none = int(group.max()) + 1, torch.zeros(len(group)).to(start)
        if self.choice == "fixed":
            return torch.full_like(none, self.time), none
        if self.choice == "random" or scorer is None:
            return self.t_max * uniform((groups,), generator, start.device).to(start)[group], none
        times, scores = worst_times(
            made.path,
            group,
            scorer,
            search=self.search,
            candidates=self.candidates,
            t_max=self.t_max,
            share=1.0 if self.scope == "sample" else self.search_share,
            max_distance=self.max_distance,
            generator=generator,
        )
        return times[group], scores[group]

    def _groups(self, made: Bundle) -> Tensor:
        if self.scope == "sample":
            return torch.arange(len(made.path), device=made.path.start.device)
        key = made.problem if self.scope == "batch" else made.class0 * self.num_classes + made.class1
        group: Tensor = key.unique(return_inverse=True)[1]
        return group.to(made.path.start.device)
