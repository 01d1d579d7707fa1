"""A search without gradients: random changes inside the ball, kept where they help."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.attacks.ascent import margin
from wassermix.attacks.ball import BallAttack
from wassermix.attacks.norms import direction, random_in_ball
from wassermix.core.classifier import Classifier

__all__ = ["random_search"]


def random_search(
    model: Classifier, x: Tensor, y: Tensor, *, attack: BallAttack, queries: int, generator: torch.Generator
) -> Tensor:
    """The best of ``queries`` random changes, one on top of the other, by the margin: ``(n, ...)``.

    Each proposal redraws a random block of the entries, to a corner of the ball in linf and along a
    random direction in l2; the blocks shrink from half the entries to a sixteenth. It needs only
    outputs, so masked gradients do not hinder it: a check of attacks that follow them.
    """
    best = attack.confine(x, x + _push(x, 1.0, attack, generator))
    score = margin(model(best), y)
    for query in range(queries):
        share = 0.5 ** (1 + 4 * query // max(queries, 1))
        proposal = attack.confine(x, best + _push(x, share, attack, generator))
        new = margin(model(proposal), y)
        better = new > score
        best = torch.where(better.reshape(-1, *[1] * (x.dim() - 1)), proposal, best)
        score = torch.where(better, new, score)
    return best


def _push(x: Tensor, share: float, attack: BallAttack, generator: torch.Generator) -> Tensor:
    """A random change of a block of neighbouring entries, as large as the ball allows."""
    noise = random_in_ball(x, 1.0, "linf", generator=generator)
    block = _block(x, share, generator)
    if attack.norm == "l2":
        return attack.eps * direction(noise * block, "l2")
    signs = noise if share == 1 else noise.reshape(len(x), -1)[:, 0].reshape(-1, *[1] * (x.dim() - 1))
    return 2 * attack.eps * block * signs.sign()


def _block(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A mask of ``share`` of the entries that lie together: a rectangle of an image, a run of a vector."""
    mask = x.new_ones(())
    sides = x.shape[2:] if x.dim() == 4 else x.shape[1:]
    for side in sides:
        size = max(1, round(share ** (1 / len(sides)) * side))
        start = int(torch.randint(side - size + 1, (1,), generator=generator, device=generator.device))
        line = x.new_zeros(side)
        line[start : start + size] = 1
        mask = mask[..., None] * line
    return mask
