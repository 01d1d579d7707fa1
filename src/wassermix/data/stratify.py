"""Stratified choice: parts of a set that keep the shares of its classes."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.core.errors import InputError
from wassermix.core.streams import stream

__all__ = ["part_away", "stratified"]


def stratified(y: Tensor, count: int, generator: torch.Generator, *, what: str = "the subset") -> Tensor:
    """``count`` sorted indices of ``y (n,)``, at random within each class, classes in proportion.

    Shares are rounded by the largest remainders and each class keeps at least one sample, so
    ``count`` must lie between the number of classes and ``n``.
    """
    sizes = torch.bincount(y)
    present = int((sizes > 0).sum())
    if not present <= count <= len(y):
        raise InputError(
            f"{what} would leave {count} training samples; "
            f"expected between {present} (one for each class) and {len(y)}"
        )
    quotas = _quotas(sizes, count)
    shuffled = torch.randperm(len(y), generator=generator)
    ranked = shuffled[torch.argsort(y[shuffled], stable=True)]  # by class, random inside a class
    rank = torch.arange(len(y)) - (sizes.cumsum(0) - sizes)[y[ranked]]
    return ranked[rank < quotas[y[ranked]]].sort().values


def _quotas(sizes: Tensor, count: int) -> Tensor:
    """How many of each class: proportional, summing to ``count``, between 1 and the class's size."""
    ideal = sizes.double() * count / sizes.sum()
    quotas = ideal.floor().long().clamp_min(1).minimum(sizes)
    while (gap := count - int(quotas.sum())) != 0:
        room = (sizes - quotas) if gap > 0 else (quotas - 1) * (sizes > 0)
        lack = (ideal - quotas) * (1 if gap > 0 else -1)
        lack[room <= 0] = -torch.inf
        chosen = torch.argsort(lack, descending=True, stable=True)[: min(abs(gap), int((room > 0).sum()))]
        quotas[chosen] += 1 if gap > 0 else -1
    return quotas


def part_away(y: Tensor, share: float, *, seed: int, what: str) -> tuple[Tensor, Tensor]:
    """Indices that stay and a stratified ``share`` of indices to set apart, always the same for one seed."""
    if not 0 < share < 1:
        raise InputError(f"{what} is {share}; expected a share between 0 and 1")
    kept = stratified(y, len(y) - round(share * len(y)), stream(seed, what), what=what)
    away = torch.ones(len(y), dtype=torch.bool).index_fill_(0, kept, False).nonzero().flatten()
    if len(away) == 0:
        raise InputError(f"{what} is {share}, less than one of {len(y)} samples; raise it")
    return kept, away
