"""The geodesic augmenter: new samples at the worst time on paths between classes (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from wassermix.augment.bundle import Bundle, Part, Problem, join_parts, worst_targets
from wassermix.augment.checking import require_rules, require_words
from wassermix.augment.pool import (
    Latents,
    Pairs,
    Pool,
    confusion_weights,
    near_weights,
    require_pairs,
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
from wassermix.transport import EntropicMap, solve_coupling

__all__ = ["GeodesicAugmenter"]

Scope = Literal["batch", "pair", "sample"]
Score = Literal["kl", "ce"]
Choice = Literal["worst", "random", "fixed"]
Pairing = Literal["transport", "random"]
Maps = Literal["batch", "class"]
Mode = Literal["stored", "online"]
WORDS: dict[str, Any] = {
    "search": Search, "score": Score, "scope": Scope, "labels": Labels, "pairs": Pairs, "choice": Choice,
    "pairing": Pairing, "maps": Maps, "mode": Mode,
}  # fmt: skip
"""The options that are words, and which ones they may be."""
Attack = Callable[[Classifier, Tensor, Tensor], Tensor]
CHUNK_ROWS = 8192
TOLERANCE = 1e-3
"""L1 error of the plans' marginals: an augmentation needs no more."""
MAP_SIZE = 1000
"""A stored map is fitted on at most so many samples of each class."""


class GeodesicAugmenter:
    """Samples on Wasserstein geodesics between classes, at the time where the current model is worst.

    ``ratio`` x as many new samples as real ones. A path joins ``pair_size`` samples of one class with as many
    of another by entropic transport (``entropy`` of the mean cost) in the space of ``embed``; with ``both``
    each problem serves both ways. Its time in [0, ``t_max``] is the worst of ``candidates`` by ``score``,
    searched on a ``search_share`` of the samples that share it: ``scope`` is one OT problem (the paper's
    ``batch``; each way has its own time), a class ``pair`` (among the some thousand samples that are made at
    once), or each ``sample`` alone. Labels as in :class:`Geodesic`.

    Classes pair up evenly (``uniform``), by the model's ``confusion``, or by ``near``-ness in W2;
    ``target_classes`` > 1 tries that many targets a source and keeps the worst, one way only whatever
    ``both`` says. ``max_distance`` bounds each sample's move in l2. ``maps="class"`` fits one map for each
    pair on whole classes (at most 1000 samples of each) and applies it to new samples, instead of an OT
    problem for each batch.

    With an adversarial base method the search scores attacked samples, which costs its steps for every
    candidate; ``attacked=False`` scores clean ones.

    Controls: ``choice="random"`` draws the time, ``choice="fixed"`` takes ``time`` (0: reconstruction only);
    ``pairing="random"`` joins random pairs (mixup between classes in the same space).

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
        pairing: Pairing = "transport",
        maps: Maps = "batch",
        reservoir: int = 0,
        mode: Mode = "stored",
        attacked: bool = True,
    ) -> None:
        self.num_classes, self.embed = num_classes, embed
        self.ratio, self.pair_size, self.entropy = ratio, pair_size, entropy
        self.candidates, self.t_max, self.search = candidates, t_max, search
        self.score, self.scope, self.search_share = score, scope, search_share
        self.labels, self.both, self.refresh, self.pairs = labels, both, refresh, pairs
        self.max_distance, self.target_classes = max_distance, target_classes
        self.choice, self.time, self.pairing, self.maps = choice, time, pairing, maps
        self.reservoir, self.mode, self.attacked = reservoir, mode, attacked
        self._latents: Latents | None = None
        self._class_maps: dict[tuple[int, int], EntropicMap] = {}
        self._near: Tensor | None = None
        self._remembered = Reservoir(reservoir, num_classes)
        _check(self)

    @property
    def passes(self) -> float:
        """Forward and backward passes that making one new sample costs (a forward is a third of one)."""
        if self.choice != "worst":
            return 0.0
        share = 1.0 if self.scope == "sample" else self.search_share
        return search_passes(self.search, self.candidates) * share * self.target_classes

    @property
    def stored(self) -> bool:
        """Whether a set stands beside the training split, instead of new samples beside each batch."""
        return self.mode == "stored"

    @property
    def scored_under(self) -> tuple[str, ...]:
        """The method's noise, and its attack where times are searched."""
        return ("sigma", "attack") if self.attacked and self.choice == "worst" else ("sigma",)

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        model: Classifier | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        attack: Attack | None = None,
    ) -> tuple[Tensor, Tensor]:
        """``round(ratio * len(x))`` new samples and their soft labels ``(m, k)``, to put beside the batch.

        Soft labels count as their most probable class; with one class alone the tensors are empty. The
        worst time and pairs by confusion need a model.
        """
        if self.maps == "class":
            raise InputError("augment: maps=class needs whole classes: use make_set, or maps='batch'")
        scorer = self._scorer(model, sigma, attack)
        embed = Pixel().fit(x) if self.embed is None else self.embed
        kinds = labelling.hard(y)
        with torch.no_grad():
            z = embed.encode(x)
        pool = Pool(*self._remembered.join(z, kinds), self.num_classes, generator)
        wanted = round(self.ratio * len(x))
        if len(pool.present) < 2 or wanted == 0:
            return x[:0], torch.zeros(0, self.num_classes, device=x.device)
        weights = self._weights(pool, TensorSamples(x, kinds), model)
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
        progress: Callable[[int, int], None] | None = None,
    ) -> AugmentedSet:
        """``round(ratio * len(source))`` new samples, worst for ``model`` under noise ``sigma``.

        The source's latents are encoded at the first call and kept for the next ones.
        """
        scorer = self._scorer(model, sigma, attack)
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

        No model is asked, so ``choice="worst"`` draws too.
        """
        embed, latents = self._prepared(source)
        pool = Pool(latents, source.y, self.num_classes, generator)
        require_pairs(pool, "augment")
        weights, stored = self._weights(pool, source, None), SetWriter(int(wanted.sum()), latents.shape)
        for kind in wanted.nonzero()[:, 0].tolist():
            only = weights * (torch.arange(len(weights)) == kind)[:, None]
            count = int(wanted[kind])
            for made, t in self._make(pool, only, count, embed=embed, scorer=None):
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
            self._latents, self._near, self._class_maps = Latents(source, embed), None, {}
        return self._latents.embed, self._latents

    def _scorer(self, model: Classifier | None, sigma: float, attack: Attack | None) -> Scorer | None:
        if model is None and self.choice == "worst":
            raise InputError(
                "augment: choice=worst looks for the time where a model is worst; "
                "give a model, or use choice='random'"
            )
        return None if model is None else Scorer(model, self.score, sigma, attack)

    def _weights(self, pool: Pool, source: LabelledSamples, model: Classifier | None) -> Tensor:
        if self.pairs == "confusion":
            if model is None:
                raise InputError(
                    "augment: pairs=confusion asks a model which classes it mistakes; "
                    "give a model, or use pairs='uniform' or 'near'"
                )
            return confusion_weights(pool, source, model)
        if self.pairs == "near":
            if pool.latents is not self._latents:  # a batch, which may lack classes that the next one has
                return near_weights(pool, self.entropy)
            if self._near is None:
                self._near = near_weights(pool, self.entropy)
            return self._near
        return uniform_weights(pool)

    def _make(
        self, pool: Pool, weights: Tensor, wanted: int, *, embed: Embedding, scorer: Scorer | None
    ) -> Iterator[tuple[Bundle, Tensor]]:
        """Paths with their times, some thousand samples at once, until there are ``wanted``."""
        both = self.both and self.target_classes == 1
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
            there, back = self._ends(pool, z0, z1, same, both=both)
            parts.append(Part(z0, there, [(p.c0, p.c1) for p in same], numbers))
            if back is not None:
                parts.append(Part(z1, back, [(p.c1, p.c0) for p in same], [-1 - n for n in numbers]))
        return join_parts(parts, embed, num_classes=self.num_classes, labels=self.labels)

    def _ends(
        self, pool: Pool, z0: Tensor, z1: Tensor, problems: list[Problem], *, both: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Where each sample of ``z0 (b, n, d)`` goes in ``z1 (b, m, d)``, and the way back."""
        n, m = z0.shape[1], z1.shape[1]
        if self.pairing == "random":  # dealt in random order already
            return z1[:, torch.arange(n) % m], z0[:, torch.arange(m) % n] if both else None
        if self.maps == "class":
            there = [self._class_map(pool, p.c0, p.c1).map(z) for z, p in zip(z0, problems)]
            back = [self._class_map(pool, p.c1, p.c0).map(z) for z, p in zip(z1, problems)] if both else None
            return torch.stack(there), None if back is None else torch.stack(back)
        coupling = solve_coupling(z0, z1, self.entropy, tolerance=TOLERANCE)
        return coupling.push(z1), coupling.pull(z0) if both else None

    def _class_map(self, pool: Pool, c0: int, c1: int) -> EntropicMap:
        if (c0, c1) not in self._class_maps:
            clouds = [pool.latents[pool.sample(c, MAP_SIZE, "map", c0, c1)] for c in (c0, c1)]
            self._class_maps[c0, c1] = EntropicMap(entropy=self.entropy, tolerance=TOLERANCE).fit(*clouds)
        return self._class_maps[c0, c1]

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


def _check(augment: GeodesicAugmenter) -> None:
    """Refuse settings that cannot mean anything, each with its own sentence."""
    require_words(augment, WORDS)
    rules = {
        f"num_classes is at least 2; got {augment.num_classes}": augment.num_classes >= 2,
        f"ratio is not negative; got {augment.ratio}": augment.ratio >= 0,
        f"pair_size is at least 1; got {augment.pair_size}": augment.pair_size >= 1,
        f"candidates is at least 1; got {augment.candidates}": augment.candidates >= 1,
        f"t_max is within (0, 1]; got {augment.t_max}": 0 < augment.t_max <= 1,
        f"time is within [0, 1]; got {augment.time}": 0 <= augment.time <= 1,
        f"search_share is within (0, 1]; got {augment.search_share}": 0 < augment.search_share <= 1,
        f"refresh is at least 1; got {augment.refresh}": augment.refresh >= 1,
        f"target_classes is at least 1; got {augment.target_classes}": augment.target_classes >= 1,
        "target_classes above 1 keeps the worst of them: it needs choice=worst": augment.target_classes == 1
        or augment.choice == "worst",
        f"max_distance is positive, or None; got {augment.max_distance}": augment.max_distance is None
        or augment.max_distance > 0,
        "maps=class needs whole classes: use mode=stored": augment.maps == "batch"
        or augment.mode == "stored",
    }
    require_rules(rules)
