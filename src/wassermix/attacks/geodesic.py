"""The worst point along geodesics: how far test samples may move towards another class unnoticed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from torch import Tensor

from wassermix.attacks.ascent import margin
from wassermix.attacks.protocol import Attack, Judgement, check_classes
from wassermix.attacks.result import share_record
from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.errors import InputError
from wassermix.core.labels import hard
from wassermix.core.samples import LabelledSamples
from wassermix.core.streams import stream
from wassermix.embed import Embedding, Pixel
from wassermix.transport import EntropicMap, TransportMap

__all__ = ["ClassPaths", "GeodesicAttack"]

Pairing = Literal["exact", "entropic", "random"]
FIT_SAMPLES = 5_000
"""Maps are fitted on at most so many training samples where the attack chooses them itself."""


class ClassPaths:
    """Reference samples of every class in a latent space, and the maps between them, fitted on demand."""

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        *,
        embed: Embedding,
        pair_size: int,
        entropy: float,
        seed: int,
        debiased: bool = True,
    ) -> None:
        self.embed, self.entropy, self.debiased = embed, entropy, debiased
        self.clouds: dict[int, Tensor] = {}
        for label in y.unique().tolist():
            rows = (y == label).nonzero().squeeze(1)
            order = torch.randperm(len(rows), generator=stream(seed, "geodesic attack", label))[:pair_size]
            with torch.no_grad():
                self.clouds[label] = embed.encode(x[rows[order.to(rows.device)]])
        self._maps: dict[tuple[int, int], TransportMap] = {}

    @cached_property
    def neighbours(self) -> dict[int, list[int]]:
        """The other classes for each, those with the nearest mean first."""
        means = {label: cloud.mean(dim=0) for label, cloud in self.clouds.items()}
        return {
            label: sorted(
                (other for other in means if other != label),
                key=lambda other: float((means[label] - means[other]).norm()),
            )
            for label in means
        }

    def image(self, z: Tensor, source: int, target: int) -> Tensor:
        """Where the points ``z (n, d)`` of class ``source`` end in class ``target``."""
        pair = (source, target)
        if pair not in self._maps:
            fresh = EntropicMap(entropy=self.entropy, debiased=self.debiased)
            self._maps[pair] = fresh.fit(self.clouds[source], self.clouds[target])
        return self._maps[pair].map(z)

    def drawn(self, count: int, target: int, *, generator: torch.Generator) -> Tensor:
        """``(count, d)``: random points of class ``target``, each draw from all of them."""
        cloud = self.clouds[target]
        rows = torch.randint(len(cloud), (count,), generator=generator, device=generator.device)
        return cloud[rows.to(cloud.device)]


@dataclass(frozen=True, kw_only=True, eq=False)
class GeodesicAttack(Attack):
    """Move samples a share ``t <= t_max`` towards other classes by optimal transport, to the worst point.

    ``x_t = x + psi((1-t) z + t T(z)) - psi(z)`` with ``z = phi(x)`` and ``T`` the entropic map between
    two classes, fitted on training samples; what the embedding loses of ``x`` stays as it is, so that
    ``x_0 = x``. ``targets=0`` tries all other classes, ``targets=3`` the three nearest. The words are those
    of the augmenter with ``maps="class"``: ``pairing="exact"`` takes the debiased map, which is exact for
    translations; ``"entropic"`` the plain one, which contracts the target class; ``"random"``, the control,
    none at all: each sample moves towards a training sample of the other class drawn at random.

    >>> attack = GeodesicAttack(t_max=0.4).fit(x_train, y_train, embed=PCA(64).fit(x_train))
    """

    name: ClassVar[str] = "geodesic"
    words: ClassVar[str] = "the geodesic attack"
    incidental: ClassVar[frozenset[str]] = Attack.incidental | {"paths"}

    t_max: float = 0.5
    times: int = 10
    targets: int = 0
    pair_size: int = 128
    entropy: float = 0.02
    pairing: Pairing = "exact"
    paths: ClassPaths | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check the words and the grid of times."""
        if not 0 < self.t_max <= 1:
            raise InputError(f"geodesic attack: t_max is {self.t_max}; expected a share in (0, 1]")
        if self.pairing not in get_args(Pairing):
            known = ", ".join(get_args(Pairing))
            raise InputError(f"geodesic attack: pairing is '{self.pairing}'; expected one of {known}")
        if self.times < 1 or self.pair_size < 1 or self.targets < 0:
            raise InputError(
                f"geodesic attack: times={self.times}, pair_size={self.pair_size}, targets={self.targets}; "
                "expected times and pair_size of 1 or more, targets of 0 (all) or more"
            )

    def fit(self, x: Tensor, y: Tensor, *, embed: Embedding | None = None) -> Self:
        """The attack with its maps, from training samples ``x (n, ...)`` with classes ``y (n,)``."""
        embed = Pixel().fit(x) if embed is None else embed
        paths = ClassPaths(
            x, y, embed=embed, pair_size=self.pair_size, entropy=self.entropy, seed=self.seed,
            debiased=self.pairing == "exact",
        )  # fmt: skip
        if len(paths.clouds) < 2:
            raise InputError(
                "geodesic attack: the training samples hold one class only; expected two or more"
            )
        return replace(self, paths=paths)

    def prepare(self, train: LabelledSamples) -> Self:
        """:meth:`fit` on at most 5,000 training samples, evenly spaced."""
        rows = torch.linspace(0, len(train) - 1, min(FIT_SAMPLES, len(train))).round().long()
        return self.fit(train.get(rows), train.y[rows])

    @property
    def title(self) -> str:
        """``the geodesic attack t ≤ 0.5``, with the pairing where it is not exact."""
        pairing = "" if self.pairing == "exact" else f" along {self.pairing} pairs"
        return f"{super().title} t ≤ {self.t_max:g}{pairing}"

    @property
    def identity_keys(self) -> tuple[str, ...]:
        """The fields, and the embedding in which the paths are straight."""
        return (*super().identity_keys, "embed")

    @property
    def label(self) -> str:
        """``geodesic-t{t_max}``, with the pairing where it is not exact."""
        pairing = "" if self.pairing == "exact" else f"{self.pairing}-"
        return f"geodesic-{pairing}t{self.t_max:g}"

    @property
    def grid(self) -> list[float]:
        """The times that are tried: ``t_max / times, ..., t_max``."""
        return [self.t_max * (step + 1) / self.times for step in range(self.times)]

    @property
    def passes(self) -> float:
        """A forward for each time and target."""
        return self.times * self._slots() / 3

    def parameters(self) -> dict[str, Any]:
        """Every parameter, and the embedding's name."""
        plain = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "paths"}
        bounds = None if self.bounds is None else list(self.bounds)
        embed = None if self.paths is None else self.paths.embed.name
        return {"attack": self.name, **plain, "bounds": bounds, "embed": embed}

    def perturb(self, model: Classifier, x: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
        """For each image the nearest point that fools the model, else the one of the highest margin."""
        best, best_score = x.clone(), torch.full((len(x),), -torch.inf, device=x.device, dtype=x.dtype)
        for _, x_t, score in self._walk(model, x, y, generator):
            take = (best_score <= 0) & (score > best_score)  # what is fooled keeps its nearest point
            best = torch.where(take.reshape(-1, *[1] * (x.dim() - 1)), x_t, best)
            best_score = torch.where(take, score, best_score)
        return best

    def judge(
        self,
        model: Classifier,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        alive: Tensor | None = None,
    ) -> Judgement:
        """Flags, the first time ``flip_t`` at which each image is lost (inf: none), and the share of targets
        under which it is right at each time, ``right (n, times)``.
        """
        with evaluating(model):
            clean = self.predict(model, x, generator=generator) == hard(y)
            check_classes(model, x, y)
            flip = torch.where(clean, torch.inf, 0.0)
            right = torch.zeros(len(x), self.times, device=x.device)
            for step, _, score in self._walk(model, x, y, generator):
                flip = torch.where(score > 0, flip.clamp_max(self.grid[step]), flip)
                right[:, step] += (score <= 0).float() / self._slots()
        return Judgement(clean, flip > self.t_max, {"flip_t": flip, "right": right})

    def summary(self, extra: dict[str, Tensor]) -> dict[str, Any]:
        """Accuracy along ``t`` (right up to there for every target; right there for the mean target), and the
        time at which each image is lost, None where it never is.
        """
        flip, right = extra["flip_t"], extra["right"]
        start = {"t": 0.0, **share_record(flip > 0), "mean_accuracy": float((flip > 0).float().mean())}
        rest = [
            {"t": t, **share_record(flip > t), "mean_accuracy": float(right[:, step].mean())}
            for step, t in enumerate(self.grid)
        ]
        times = [None if math.isinf(t) else round(t, 6) for t in flip.tolist()]
        return {"curve": [start, *rest], "flip_t": times}

    def _walk(
        self, model: Classifier, x: Tensor, y: Tensor, generator: torch.Generator
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Every time with every target, nearest times first: the moved samples and their margins."""
        paths, label = self._fitted(), hard(y)
        home = next(iter(paths.clouds.values())).device  # the maps may live elsewhere than the model
        with torch.no_grad():
            z = paths.embed.encode(x.to(home))
            rest = x.to(home) - paths.embed.decode(z)
            ends = [self._ends(z, label, slot, generator) for slot in range(self._slots())]
            for step, t in enumerate(self.grid):
                for end in ends:
                    moved = rest + paths.embed.decode(torch.lerp(z, end, t))
                    x_t = self.confine(x, moved.to(x.device))
                    yield step, x_t, margin(model(x_t), label)

    def _ends(self, z: Tensor, label: Tensor, slot: int, generator: torch.Generator) -> Tensor:
        """The end point of each sample in its class's ``slot``-th neighbour."""
        paths, ends = self._fitted(), z.clone()
        for source in label.unique().tolist():
            if source not in paths.clouds:
                raise InputError(f"geodesic attack: class {source} has no training samples; fit it with some")
            rows = label.to(z.device) == source
            target = paths.neighbours[source][slot]
            if self.pairing == "random":
                ends[rows] = paths.drawn(int(rows.sum()), target, generator=generator)
            else:
                ends[rows] = paths.image(z[rows], source, target)
        return ends

    def _slots(self) -> int:
        others = len(self._fitted().clouds) - 1
        return min(self.targets, others) if self.targets else others

    def _fitted(self) -> ClassPaths:
        if self.paths is None:
            raise InputError("geodesic attack: it has no maps yet; call fit(x_train, y_train) first")
        return self.paths
