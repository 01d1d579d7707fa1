"""Bundles of paths: many transport problems of any sizes, solved together and flattened to particles."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from wassermix.core import labels as labelling
from wassermix.embed import Embedding
from wassermix.geodesic.path import Geodesic, Labels

__all__ = ["Bundle", "Part", "Problem", "join_parts", "worst_targets"]


@dataclass(frozen=True, eq=False)
class Problem:
    """One OT problem: rows of two classes."""

    rows0: Tensor
    rows1: Tensor
    c0: int
    c1: int


@dataclass(frozen=True, eq=False)
class Part:
    """Solved problems of one size: ``start`` and ``end (b, n, d)``, their classes and numbers."""

    start: Tensor
    end: Tensor
    pairs: list[tuple[int, int]]
    numbers: list[int]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Particles of many problems: their path, classes and problem (negative: the way back)."""

    path: Geodesic
    class0: Tensor
    class1: Tensor
    problem: Tensor


def join_parts(parts: list[Part], embed: Embedding, *, num_classes: int, labels: Labels) -> Bundle:
    """Parts of several shapes as one bundle of particles."""
    class0, class1, problem = [], [], []
    for part in parts:
        pairs = torch.tensor(part.pairs).repeat_interleave(part.start.shape[1], dim=0)
        class0.append(pairs[:, 0])
        class1.append(pairs[:, 1])
        problem.append(torch.tensor(part.numbers).repeat_interleave(part.start.shape[1]))
    first, last = torch.cat(class0), torch.cat(class1)
    start = torch.cat([part.start.flatten(0, 1) for part in parts])
    path = Geodesic(
        start,
        torch.cat([part.end.flatten(0, 1) for part in parts]),
        labelling.soft(first, num_classes).to(start),
        labelling.soft(last, num_classes).to(start),
        weights=torch.full((len(start),), 1 / len(start)).to(start),
        embed=embed,
        labels=labels,
    )
    return Bundle(path, first, last, torch.cat(problem))


def worst_targets(made: Bundle, t: Tensor, scores: Tensor, sources: int) -> tuple[Bundle, Tensor]:
    """For each source the target class with the highest mean score; ``problem`` numbers them in turn."""
    tried = int(made.problem.max()) + 1
    scores = scores.cpu()
    total = torch.zeros(tried).to(scores).index_add(0, made.problem, scores)
    mean = total / torch.bincount(made.problem, minlength=tried).to(scores)
    winner = mean.reshape(sources, -1).argmax(dim=1) + torch.arange(sources) * (tried // sources)
    rows = torch.isin(made.problem, winner).nonzero()[:, 0]
    kept = Bundle(made.path.rows(rows), made.class0[rows], made.class1[rows], made.problem[rows])
    return kept, t[rows.to(t.device)]
