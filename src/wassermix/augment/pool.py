"""The pool that paths are drawn from: latents by class, dealt so that every sample gets its turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier, evaluating
from wassermix.core.draws import choose, permutation
from wassermix.core.errors import InputError
from wassermix.core.samples import LabelledSamples
from wassermix.core.streams import stream
from wassermix.embed import Embedding, encode_rows
from wassermix.embed.protocol import require_unit_range
from wassermix.geodesic.worst import device_of
from wassermix.transport import solve_coupling

__all__ = ["Pairs", "Pool", "confusion_weights", "near_weights", "nearest_weights", "uniform_weights"]

Pairs = Literal["uniform", "confusion", "near", "nearest"]
CACHE_BYTES = 2**29
"""Latents are kept in memory up to this size; larger ones are encoded when they are drawn."""
WATCHED = 2000
NEARNESS = 4.0
LEAST_COST = 1e-6
"""Classes nearer than this share of the largest cost count as equally near."""
LOOKED_AT = 64
"""Samples of which the scale of the values is looked at."""


class Latents:
    """All latents of a source, by index: encoded once where they fit into memory, else on demand."""

    def __init__(self, source: LabelledSamples, embed: Embedding) -> None:
        self.source, self.embed = source, embed
        first = source.get(torch.arange(min(len(source), LOOKED_AT)))
        require_unit_range(first)
        self.shape = tuple(first.shape[1:])
        with torch.no_grad():
            size = embed.encode(first[:1]).shape[1]
        fits = 4 * size * len(source) <= CACHE_BYTES
        self.table = encode_rows(embed, source) if fits else None

    @torch.no_grad()
    def __getitem__(self, indices: Tensor) -> Tensor:
        if self.table is not None:
            return self.table[indices]
        return self.embed.encode(self.source.get(indices.reshape(-1))).reshape(*indices.shape, -1)


class Pool:
    """Latents of each class, dealt like cards: a class is reshuffled when its deck has run out."""

    def __init__(
        self, latents: Latents | Tensor, y: Tensor, num_classes: int, generator: torch.Generator | None
    ) -> None:
        self.latents, self.generator = latents, generator
        y = y.cpu()
        if len(y) and not 0 <= int(y.min()) <= int(y.max()) < num_classes:
            raise InputError(
                f"augment: classes run from {int(y.min())} to {int(y.max())}; expected 0 to num_classes - 1 "
                f"= {num_classes - 1}"
            )
        self.rows = [(y == c).nonzero()[:, 0] for c in range(num_classes)]
        self.counts = torch.tensor([len(rows) for rows in self.rows])
        self._left = [rows[:0] for rows in self.rows]

    @property
    def present(self) -> Tensor:
        """The classes that have samples."""
        return (self.counts > 0).nonzero()[:, 0]

    def deal(self, label: int, count: int) -> Tensor:
        """Indices of ``count`` different samples of a class (all of them where it has fewer).

        What is left of a deck is dealt first, then topped up from a new one: all samples come equally often.
        """
        rows, left = self.rows[label], self._left[label]
        missing = min(count, len(rows)) - len(left)
        if missing <= 0:
            self._left[label] = left[count:]
            return left[:count]
        deck = rows[permutation(len(rows), self.generator)]
        more = deck[~torch.isin(deck, left)][:missing]
        self._left[label] = deck[~torch.isin(deck, more)]
        return torch.cat([left, more])

    def sample(self, label: int, count: int, *purpose: str | int) -> Tensor:
        """Indices of ``count`` different samples that no deal and no generator of an epoch has a part in.

        What is learnt once from them is the same whenever it is learnt, so that training can be resumed.
        """
        rows = self.rows[label]
        return rows[permutation(len(rows), stream(0, *purpose, label))[:count]]

    def problems(
        self, weights: Tensor, pair_size: int, wanted: int, *, both: bool
    ) -> Iterator[tuple[int, int]]:
        """Class pairs drawn by ``weights (k, k)`` until they give ``wanted`` samples.

        Where all pairs weigh the same they are dealt: each comes once before any comes again.
        """
        size = self.counts.clamp(max=pair_size)
        possible = weights.reshape(-1).nonzero()[:, 0]
        even = bool((weights.reshape(-1)[possible] == weights.max()).all())
        while wanted > 0:
            if even:
                drawn = possible[permutation(len(possible), self.generator)]
            else:
                drawn = choose(weights.reshape(-1), len(possible), self.generator)
            for flat in drawn.tolist():
                c0, c1 = divmod(flat, len(size))
                yield c0, c1
                wanted -= int(size[c0] + (size[c1] if both else 0))
                if wanted <= 0:
                    return


def uniform_weights(pool: Pool) -> Tensor:
    """Every ordered pair of different classes that have samples alike, ``(k, k)``."""
    has = (pool.counts > 0).float()
    return has[:, None] * has[None, :] * (1 - torch.eye(len(has)))


@torch.no_grad()
def confusion_weights(pool: Pool, source: LabelledSamples, model: Classifier) -> Tensor:
    """Pairs by how much probability the model gives to the other class, on training samples, ``(k, k)``.

    A tenth is spread evenly, so that no pair dies out.
    """
    order = permutation(len(source), pool.generator)[:WATCHED]
    y, mass = source.y[order].cpu(), torch.zeros(len(pool.counts), len(pool.counts))
    with evaluating(model):
        for rows in torch.arange(len(order)).split(512):
            x = source.get(order[rows])
            logits = model(x.to(device_of(model, x.device)))
            mass.index_add_(0, y[rows], logits.softmax(dim=1).float().cpu()[:, : len(mass)])
    mass = mass / torch.bincount(y, minlength=len(mass)).clamp_min(1)[:, None]
    even = uniform_weights(pool)
    mass = mass * even
    total = mass.sum()
    confused = mass / total if float(total) > 0 else torch.zeros_like(mass)
    return 0.9 * confused + 0.1 * even / even.sum()


def near_weights(pool: Pool, entropy: float) -> Tensor:
    """Pairs in proportion to ``W2^-8`` between small samples of the classes, so that near ones prevail.

    The samples of a class with fewer than the others are counted round.
    """
    present = pool.present.tolist()
    size = min(64, int(pool.counts.max()))
    chosen = {c: pool.sample(c, size, "near") for c in present}
    clouds = {c: pool.latents[rows[torch.arange(size) % len(rows)]] for c, rows in chosen.items()}
    costs = torch.zeros(len(pool.counts), len(pool.counts))
    for number, c0 in enumerate(present[:-1]):
        others = present[number + 1 :]
        targets = torch.stack([clouds[c] for c in others])
        cost = (
            solve_coupling(clouds[c0].expand_as(targets), targets, entropy, tolerance=1e-2).cost.float().cpu()
        )
        costs[c0, others] = costs[others, c0] = cost
    even = uniform_weights(pool)
    apart = costs.clamp_min(max(float(costs.max()) * LEAST_COST, 1e-30))
    nearest = apart[even > 0].min()  # as a unit: a power of raw costs would leave float's range
    return even * (nearest / apart) ** NEARNESS


def nearest_weights(pool: Pool, entropy: float) -> Tensor:
    """Each class with the one that is nearest in W2 alone, ``(k, k)``."""
    near = near_weights(pool, entropy)
    best = near.max(dim=1, keepdim=True).values
    return ((near == best) & (best > 0)).to(near.dtype)


def require_pairs(pool: Pool, where: str) -> None:
    """At least two classes must have samples."""
    if len(pool.present) < 2:
        raise InputError(
            f"{where}: {len(pool.present)} class has samples; a geodesic joins two, so give at least two"
        )


def require_samples(pool: Pool, wanted: Tensor) -> None:
    """Each class of which new samples are ``wanted (k,)`` must have some to start from."""
    if empty := [label for label in wanted.nonzero()[:, 0].tolist() if not pool.counts[label]]:
        raise InputError(f"augment: class {empty[0]} has no samples from which new ones could start")
