"""Images as grids of patches: pooling, what a border between two patches shows, and moving them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["border_costs", "move_patches", "pool", "transport_plan"]


def pool(x: Tensor, blocks: int) -> Tensor:
    """The mean of each of ``blocks x blocks`` blocks: ``(n, c, h, w) -> (n, c, blocks, blocks)``."""
    return F.avg_pool2d(x, (x.shape[2] // blocks, x.shape[3] // blocks))


def border_costs(
    own: Tensor, other: Tensor, blocks: int, *, scale: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the picture's jumps at block borders add to a cut.

    For neighbours p, q with sources i, j (1 ``own``, 0 ``other``), ``E_ij`` is ``scale`` times the mean
    absolute difference across their border. Any such table is a price for each block's own source plus
    ``(E_10 + E_01 - E_11 - E_00) / 2`` where the sources differ. Gives the summed prices of taking ``own``
    and ``other``, ``(n, b, b)`` each, and the weights to the right and down.
    """
    images = torch.stack([_coarse(other, blocks), _coarse(own, blocks)])  # (source, n, c, h, w)
    keep, give = own.new_zeros(2, len(own), blocks, blocks)
    down = _jumps(images, blocks) * scale  # (i, j, n, b - 1, b)
    right = _jumps(images.transpose(3, 4), blocks).transpose(3, 4) * scale
    for jumps, before, after in (
        (down, (slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        (right, (slice(None), slice(None), slice(None, -1)), (slice(None), slice(None), slice(1, None))),
    ):
        keep[before] += (jumps[1, 1] + jumps[1, 0]) / 2
        give[before] += (jumps[0, 1] + jumps[0, 0]) / 2
        keep[after] += (jumps[1, 1] + jumps[0, 1]) / 2
        give[after] += (jumps[1, 0] + jumps[0, 0]) / 2
    weights = [(e[1, 0] + e[0, 1] - e[1, 1] - e[0, 0]) / 2 for e in (right, down)]
    return keep, give, weights[0], weights[1]


def _coarse(x: Tensor, blocks: int) -> Tensor:
    """Averaged over the largest squares of at most 4 x 4 pixels that divide a block."""
    height, width = x.shape[2] // blocks, x.shape[3] // blocks
    side = max(one for one in (1, 2, 3, 4) if height % one == 0 and width % one == 0)
    return F.avg_pool2d(x, side)


def _jumps(images: Tensor, blocks: int) -> Tensor:
    """``(2, n, c, h, w) -> (2, 2, n, b - 1, b)``: from each block to the one below, for all source pairs."""
    rows = images.shape[3] // blocks
    above = images[:, :, :, rows - 1 :: rows][:, :, :, : blocks - 1]
    below = images[:, :, :, rows::rows]
    difference = (above.unsqueeze(1) - below.unsqueeze(0)).abs().mean(dim=3)  # (2, 2, n, b - 1, w)
    return difference.reshape(*difference.shape[:4], blocks, -1).mean(dim=5)


def transport_plan(weight: Tensor, shown: Tensor, *, price: float) -> Tensor:
    """Which patch each place shows: ``weight (n, b, b), shown (n, b, b) bool -> (n, b * b)`` indices.

    Moving patch i to place j costs ``price * |pos_i - pos_j|^2 / (b - 1)^2``, less the patch's weight where
    place j is shown. In ``b`` rounds each patch asks for its cheapest place, the cheapest asker wins, and
    the others pay 1 more there. A place that nobody won keeps its own patch.
    """
    blocks = weight.shape[1]
    axis = torch.arange(blocks, device=weight.device, dtype=weight.dtype)
    position = torch.cartesian_prod(axis, axis) / max(blocks - 1, 1)
    distance = (position.unsqueeze(1) - position.unsqueeze(0)).square().sum(dim=2)
    cost = price * distance - weight.flatten(1).unsqueeze(2) * shown.flatten(1).unsqueeze(1).to(weight.dtype)
    own = torch.arange(blocks**2, device=weight.device).expand(len(weight), -1)
    plan = own
    for _ in range(blocks):
        offer, place = cost.min(dim=2)
        winner = _cheapest(offer, place)
        won = winner.gather(1, place) == own
        plan = torch.where(winner < blocks**2, winner, own)
        if bool(won.all()):
            break
        cost.scatter_add_(2, place.unsqueeze(2), (~won).to(cost.dtype).unsqueeze(2))
    return plan


def _cheapest(offer: Tensor, place: Tensor) -> Tensor:
    """The patch with the least offer for each place, the first among equals; ``len`` where none asks."""
    best = torch.full_like(offer, torch.inf).scatter_reduce(1, place, offer, "amin")
    count = offer.shape[1]
    index = torch.arange(count, device=offer.device).expand_as(place)
    rank = torch.where(offer == best.gather(1, place), index, count)
    return torch.full_like(place, count).scatter_reduce(1, place, rank, "amin")


def move_patches(x: Tensor, plan: Tensor) -> Tensor:
    """Put patch ``plan[n, j]`` at place j of each image: ``(n, c, h, w), (n, b * b) -> (n, c, h, w)``."""
    blocks = round(plan.shape[1] ** 0.5)
    size = x.shape[2] // blocks, x.shape[3] // blocks
    patches = F.unfold(x, size, stride=size)  # (n, c * patch, b * b)
    moved = patches.gather(2, plan.unsqueeze(1).expand_as(patches))
    return F.fold(moved, x.shape[2:], size, stride=size)
