"""One small network on vectors, trained on real samples and as many others as its row asks for.

Every row takes the same number of updates on batches of the same size, so that they differ only in what the
second part of a batch holds: real samples again, points between classes, jittered samples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import cross_entropy, one_hot

from wassermix.core.streams import stream, stream_seed
from wassermix.experiments.vector_data import VectorSplit
from wassermix.models import build_model
from wassermix.transport import assign

__all__ = ["ROWS", "Training", "between_classes", "train_vectors"]

Labelled = tuple[Tensor, Tensor]
Tensors = dict[str, Tensor]
JITTER, SMOOTHING, PAIR_SIZE, T_MAX = 0.25, 0.1, 64, 0.5


@dataclass(frozen=True)
class Training:
    """How long and on what: ``real`` samples and ``ratio`` times as many others in each batch."""

    ratio: int = 1
    sigma: float = 0.0
    updates: int = 600
    real: int = 32
    refresh: int = 20
    rate: float = 0.003
    hidden: tuple[int, ...] = (64, 64)


def between_classes(x: Tensor, y: Tensor, *, exact: bool, generator: torch.Generator) -> Labelled:
    """Points between all pairs of classes with mixed labels: ``x (m, d)``, ``y (m, k)``.

    Groups of equal size are paired exactly or at random; each pair gives two points, at ``t`` from either
    end, ``t`` uniform in [0, 1/2]. Both ways draw the same samples and times for the same generator.
    """
    labels, made = one_hot(y).to(x.dtype), []
    for first, second in combinations(y.unique().tolist(), 2):
        rows = [torch.nonzero(y == label).flatten() for label in (first, second)]
        size = min(PAIR_SIZE, *map(len, rows))
        a, b = (own[torch.randperm(len(own), generator=generator)[:size]] for own in rows)
        b = b[assign(x[a], x[b])] if exact else b
        t = T_MAX * torch.rand(size, 1, generator=generator)
        for start, end in ((a, b), (b, a)):
            made.append(((1 - t) * x[start] + t * x[end], (1 - t) * labels[start] + t * labels[end]))
    return torch.cat([points for points, _ in made]), torch.cat([shares for _, shares in made])


def _real(x: Tensor, y: Tensor, generator: torch.Generator) -> Labelled:
    return x, one_hot(y).to(x.dtype)


def _jittered(x: Tensor, y: Tensor, generator: torch.Generator) -> Labelled:
    return x + JITTER * torch.randn(x.shape, generator=generator), one_hot(y).to(x.dtype)


def _exact(x: Tensor, y: Tensor, generator: torch.Generator) -> Labelled:
    return between_classes(x, y, exact=True, generator=generator)


def _random(x: Tensor, y: Tensor, generator: torch.Generator) -> Labelled:
    return between_classes(x, y, exact=False, generator=generator)


Others = Callable[[Tensor, Tensor, torch.Generator], Labelled]
ROWS: dict[str, tuple[Others, float]] = {
    "plain": (_real, 0.0),
    "exact pairs": (_exact, 0.0),
    "random pairs": (_random, 0.0),
    "jitter": (_jittered, 0.0),
    "label smoothing": (_real, SMOOTHING),
}
"""Name -> what the second part of a batch is drawn from (features have unit spread), and label smoothing."""


def train_vectors(
    splits: Sequence[VectorSplit], row: str, training: Training, *, seeds: Sequence[int]
) -> list[nn.Module]:
    """One network for each split and seed, trained side by side: their weights are stacked, not shared.

    The start, the real samples and the noise depend on the seed alone, not on the row.
    """
    others, smoothing = ROWS[row]
    models = [_start(split, training, seed) for split, seed in zip(splits, seeds)]
    weights, buffers = stack_module_state(models)
    shape = copy.deepcopy(models[0]).to("meta")

    def loss(own: Tensors, fixed: Tensors, x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(functional_call(shape, (own, fixed), (x,)), y, label_smoothing=smoothing)

    optimizer = torch.optim.Adam(list(weights.values()), lr=training.rate)
    streams = [_batches(split, others, training, seed) for split, seed in zip(splits, seeds)]
    for batches in zip(*streams):
        x, y = (torch.stack(part) for part in zip(*batches))
        optimizer.zero_grad()
        vmap(loss)(weights, buffers, x, y).sum().backward()
        optimizer.step()
    for number, model in enumerate(models):
        own = {name: stacked[number].detach() for name, stacked in weights.items()}
        model.load_state_dict(own, strict=False)
    return [model.eval() for model in models]


def _start(split: VectorSplit, training: Training, seed: int) -> nn.Module:
    return build_model(
        "mlp",
        shape=tuple(split.x.shape[1:]),
        num_classes=split.classes,
        seed=stream_seed(seed, "start"),
        hidden=training.hidden,
    )


def _batches(data: VectorSplit, others: Others, training: Training, seed: int) -> Iterator[Labelled]:
    """Noisy batches of real samples and others; the others are made anew every ``refresh`` updates."""
    drawn, made, noises = (stream(seed, "vectors", purpose) for purpose in ("real", "others", "noise"))
    labels = one_hot(data.y, data.classes).to(data.x.dtype)
    pool = others(data.x, data.y, made)
    for update in range(training.updates):
        if update % training.refresh == 0:
            pool = others(data.x, data.y, made)
        real = torch.randint(len(data.x), (training.real,), generator=drawn)
        more = torch.randint(len(pool[0]), (training.ratio * training.real,), generator=made)
        x = torch.cat([data.x[real], pool[0][more]])
        noise = torch.randn(x.shape, generator=noises)
        yield x + training.sigma * noise, torch.cat([labels[real], pool[1][more]])
