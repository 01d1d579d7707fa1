"""What a data set looks like to transport: is there anything that optimal pairs do better than random ones?

Nothing is trained. Between random groups of two classes, samples are paired exactly and at random, and the
points half-way are compared with real samples: what a pair costs, how much of the classes' spread is left,
how often the nearest real sample is of a third class, and how far it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
from wassermix.core.streams import stream
from wassermix.embed import Embedding
from wassermix.geodesic.geometry_settings import GeometrySettings
from wassermix.transport import assign

__all__ = ["Geometry", "GeometrySettings", "Measured", "data_geometry", "measure_geometry", "sentence"]

Progress = Callable[[int, int], None]
KEPT = 0.5
"""Pairing can matter where exact pairs keep at least this share of the spread that random ones lose."""
SIGNIFICANT = 3.0
"""Standard errors from which on a difference between pairings is called one."""
NOTABLE = 0.02
"""A share of points half-way below which a difference in third classes is not worth a word."""


@dataclass(frozen=True)
class Measured:
    """A mean over problems with exact and with random pairs, and the difference with its standard error."""

    exact: float
    random: float
    difference: float
    error: float

    @classmethod
    def of(cls, exact: Tensor, random: Tensor) -> Measured:
        """From one value for each problem, ``(problems,)`` each."""
        gaps = exact - random
        error = float(gaps.std(correction=1)) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        return cls(float(exact.mean()), float(random.mean()), float(gaps.mean()), error)


@dataclass(frozen=True)
class Geometry:
    """One embedding at one pair_size.

    - ``cost``: mean squared distance of partners, in units of random ones' (so that ``cost.random`` is 1); -
    ``spread``: variance half-way against the mean variance of the two classes: 1 for translated classes, a
    half for random pairs of equal classes; - ``intrusion``: share of points half-way whose nearest real
    sample (not one of the two that made it) is of a third class; None with two classes; - ``nearest``: their
    distance to it, in units of a real sample's distance to its nearest neighbour.
    """

    embed: str
    dim: int
    pair_size: int
    problems: int
    cost: Measured
    spread: Measured
    nearest: Measured
    intrusion: Measured | None

    @property
    def kept(self) -> float:
        """Share that exact pairs keep of the spread that random pairs lose: 1 for translated classes."""
        return (self.spread.exact - self.spread.random) / max(1 - self.spread.random, 1e-9)


def data_geometry(
    data: LabelledSamples,
    embeddings: Sequence[tuple[str, Embedding]],
    settings: GeometrySettings,
    *,
    progress: Progress | None = None,
) -> list[Geometry]:
    """Every embedding at every pair_size, on samples drawn at random; embeddings are fitted on the same."""
    order = torch.randperm(len(data), generator=stream(settings.seed, "geometry", "samples"))
    chosen = order[: settings.samples].sort().values
    x, y = data.get(chosen), data.y[chosen]
    sizes, found = _sizes(y, settings.pair_size), []
    for name, embed in embeddings:
        z = embed.fit(x).encode(x).detach()
        for size in sizes:
            found.append(
                measure_geometry(
                    z, y, embed=name, pair_size=size, problems=settings.problems, seed=settings.seed
                )
            )
            if progress is not None:
                progress(len(found), len(sizes) * len(embeddings))
    return found


def _sizes(y: Tensor, wanted: Sequence[int]) -> list[int]:
    """The sizes in order, cut to what two classes can fill."""
    counts = y.unique(return_counts=True)[1].sort(descending=True).values
    if any(size < 2 for size in wanted) or not wanted:
        raise InputError(f"pair_size: got {','.join(map(str, wanted))}; expected sizes of at least 2")
    most = int(counts[1]) if len(counts) > 1 else 1
    return sorted({min(size, most) for size in wanted})


def measure_geometry(
    z: Tensor, y: Tensor, *, embed: str, pair_size: int, problems: int = 20, seed: int = 0
) -> Geometry:
    """Measure latents ``z (n, d)`` of classes ``y (n,)``; a seed draws the same samples in any embedding.

    A problem takes as many samples of each class as the smaller of the two has, at most ``pair_size``.
    """
    z = z.double() - z.double().mean(dim=0)  # centred: distances by products lose no digits
    pairs = _class_pairs(y, problems, seed)
    scale = _neighbour_distance(z)
    rows = []
    for number, (first, second) in enumerate(pairs):
        chosen = _draw(y, first, second, pair_size, generator=stream(seed, "geometry", number))
        rows.append(
            torch.stack([_problem(z, y, chosen, exact=exact, scale=scale) for exact in (True, False)])
        )
    found = torch.stack(rows)  # (problems, exact or random, measures)
    cost, spread, near, third = (Measured.of(found[:, 0, k], found[:, 1, k]) for k in range(4))
    intrusion = third if len(y.unique()) > 2 else None
    return Geometry(embed, z.shape[1], pair_size, len(rows), cost, spread, near, intrusion)


def _class_pairs(y: Tensor, problems: int, seed: int) -> list[tuple[int, int]]:
    """``problems`` pairs of classes with two samples at least: all of them in turn, in random order."""
    values, counts = y.unique(return_counts=True)
    pairs = list(itertools.combinations(values[counts > 1].tolist(), 2))
    if not pairs:
        raise InputError("geometry: fewer than two classes have two samples; expected labelled classes")
    order = torch.randperm(len(pairs), generator=stream(seed, "geometry", "pairs")).tolist()
    return [pairs[k] for k in itertools.islice(itertools.cycle(order), problems)]


def _draw(
    y: Tensor, first: int, second: int, size: int, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Indices of equally many samples of the two classes."""
    members = [torch.nonzero(y == label).flatten() for label in (first, second)]
    count = min(size, *map(len, members))
    drawn = [own[torch.randperm(len(own), generator=generator)[:count]] for own in members]
    return drawn[0], drawn[1]


def _problem(z: Tensor, y: Tensor, chosen: tuple[Tensor, Tensor], *, exact: bool, scale: float) -> Tensor:
    """Cost against random pairs', spread, distance and intrusion of one pairing: ``(4,)``."""
    first, second = chosen
    expected = _distances(z[first], z[second]).square().mean()
    if exact:
        second = second[assign(z[first], z[second])]
        cost = _ratio((z[first] - z[second]).square().sum(-1).mean(), expected)
    else:
        cost = torch.ones((), dtype=z.dtype)  # as drawn, the order is random: the expected cost is the unit
    middle = (z[first] + z[second]) / 2
    spread = _ratio(_variance(middle), (_variance(z[first]) + _variance(z[second])) / 2)
    distance, index = _nearest(middle, z, (first, second))
    third = (y[index] != y[first[0]]) & (y[index] != y[second[0]])
    return torch.stack([cost, spread, distance.mean() / scale, third.double().mean()])


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """``part / whole``; 1 where all samples are alike, so that there is nothing to lose."""
    return part / whole if whole > 0 else torch.ones((), dtype=part.dtype)


def _distances(a: Tensor, b: Tensor) -> Tensor:
    return torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist")


def _variance(z: Tensor) -> Tensor:
    return z.var(dim=0).sum()


def _nearest(middle: Tensor, z: Tensor, own: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Distance and index of the nearest of ``z`` for each row, apart from the row's ``own`` samples."""
    distance = _distances(middle.float(), z.float())
    for indices in own:
        distance[torch.arange(len(middle)), indices] = torch.inf
    found = distance.min(dim=1)
    return found.values.double(), found.indices


def _neighbour_distance(z: Tensor, *, limit: int = 500) -> float:
    """A real sample's mean distance to its nearest neighbour, over evenly spaced samples; copies aside."""
    rows = torch.arange(0, len(z), max(1, len(z) // limit))
    distance, _ = _nearest(z[rows], z, (rows,))
    apart = distance[distance > 0]  # copies say nothing about how far samples are from one another
    return float(apart.mean()) if len(apart) else 1.0


def sentence(found: Sequence[Geometry]) -> str:
    """Whether pairing can matter in one embedding and why, in plain words, from its largest pair_size."""
    best = max(found, key=lambda one: one.pair_size)
    reasons = _reasons(best)
    judged = f"can matter: {' and '.join(reasons)}" if reasons else "can hardly matter"
    return (
        f"{best.embed} ({best.dim} dimensions): pairing {judged}. "
        f"With {best.pair_size} samples of each class, exact partners cost {best.cost.exact:.0%} of random "
        f"ones and keep {best.spread.exact:.2f} of the classes' spread half-way "
        f"(random pairs {best.spread.random:.2f}). "
        f"{_landing(best)}"
    )


def _reasons(one: Geometry) -> list[str]:
    """What exact pairs do clearly otherwise than random ones; whether that helps, only training tells."""
    found = ["exact pairs keep most of the spread"] if one.kept >= KEPT else []
    third = one.intrusion
    if third is not None and abs(third.difference) > max(SIGNIFICANT * third.error, NOTABLE):
        found.append(f"exact pairs land in a third class {'more' if third.difference > 0 else 'less'} often")
    return found


def _landing(one: Geometry) -> str:
    """Where the points half-way land."""
    far = f"{one.nearest.exact:.2f} neighbour distances off (random pairs {one.nearest.random:.2f})"
    if one.intrusion is None:
        return f"The nearest real sample is {far}."
    shares = f"{one.intrusion.exact:.1%} of the cases (random pairs {one.intrusion.random:.1%})"
    return f"The nearest real sample is {far}, and of a third class in {shares}."
