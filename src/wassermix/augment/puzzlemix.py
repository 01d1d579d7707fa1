"""PuzzleMix: which blocks of which image, by saliency and a cut, and where its patches go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from wassermix.augment.grid_cut import cut_grid
from wassermix.augment.mixing import BatchMixing, beta_share, mix_labels, pairing
from wassermix.augment.patches import border_costs, move_patches, pool, transport_plan
from wassermix.core import labels
from wassermix.core.classifier import Classifier, evaluating, frozen
from wassermix.core.draws import uniform
from wassermix.core.errors import InputError

__all__ = ["PuzzleMix"]


@dataclass(frozen=True, kw_only=True)
class PuzzleMix(BatchMixing):
    """Images mixed block by block so that little saliency is lost, their patches moved to where they show.

    1. Saliency: the root mean square over channels of the loss's input gradient, in eval mode.
    2. A grid of b x b blocks, ``l ~ Beta(beta, beta)`` and a pairing, drawn for each batch.
    3. A mask on the grid with values ``0, ..., 1``: the minimum of lost saliency, of jumps between blocks
       (in the mask and in the picture), and of the distance from the share l; found exactly by a cut.
    4. Patches of both images move towards the blocks where they count, at a price for distance.
    5. ``z * x + (1 - z) * x[pairs]``; the labels' share is the mean of z.

    The reference's optional clean loss in the saliency pass is not part of an augmenter. Only for images.

    Args:
        beta: the parameter of the Beta law of l.
        grids: numbers b of blocks a side, drawn uniformly from those that divide the image.
        levels: the number of mask values; 2 is a binary mask.
        smoothness: the weight of jumps in the mask (the reference's beta).
        border: the weight of jumps in the picture (gamma).
        prior: the weight of the distance from l (eta).
        transport: the price of moving a patch across the image (t_eps); 0 switches moving off.
        transport_patch: the side of the patches that move, in pixels; 0 is the mask's blocks.
    """

    grids: tuple[int, ...] = (2, 4, 8, 16)
    levels: int = 3
    smoothness: float = 1.2
    border: float = 0.5
    prior: float = 0.2
    transport: float = 0.8
    transport_patch: int = 0

    needs_images: ClassVar[bool] = True
    passes: ClassVar[float] = 1.0
    reference: ClassVar[str] = "Kim, Choo, Song 2020"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels < 2:
            raise InputError(f"PuzzleMix: levels is {self.levels}; expected 2 or more")
        if not 0 <= self.border <= 1:
            raise InputError(f"PuzzleMix: border is {self.border}; expected a number in [0, 1]")
        if min(self.smoothness, self.prior, self.transport, self.transport_patch) < 0:
            raise InputError("PuzzleMix: smoothness, prior, transport and transport_patch must be 0 or more")

    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The mixed batch; asks the model for its gradient."""
        if model is None or x.dim() != 4:
            raise InputError("PuzzleMix needs model= and images (n, c, h, w)")
        blocks = self._grid(x, uniform((), generator, torch.device("cpu")).item())
        share, pairs = beta_share(self.beta, generator), pairing(len(x), generator, x.device)
        saliency = input_saliency(model, x, y)
        mask = self.mask(x.detach(), saliency, pairs, blocks=blocks, share=share)
        mixed = self.assemble(x, saliency, pairs, mask)
        return mixed, mix_labels(y, pairs, mask.mean(dim=(1, 2)))

    def mask(self, x: Tensor, saliency: Tensor, pairs: Tensor, *, blocks: int, share: float) -> Tensor:
        """Each image's share of each block, ``(n, b, b)`` in [0, 1]."""
        unary, right, down = self.energy(x, saliency, pairs, blocks=blocks, share=share)
        cuts = [cut_grid(*parts) for parts in zip(unary, right, down)]
        return torch.from_numpy(np.stack(cuts) / (self.levels - 1)).to(x)

    def energy(
        self, x: Tensor, saliency: Tensor, pairs: Tensor, *, blocks: int, share: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cut's prices: of each mask value ``(n, b, b, levels)``, of jumps to the right and down."""
        own = pool(saliency.unsqueeze(1), blocks)[:, 0]
        own = own / own.sum(dim=(1, 2), keepdim=True).clamp_min(torch.finfo(own.dtype).tiny)
        unit = self.smoothness / (16 * blocks)
        keep, give, right, down = border_costs(x, x[pairs], blocks, scale=unit * self.border)
        z = torch.linspace(0, 1, self.levels, dtype=x.dtype, device=x.device)
        price = (own[pairs] + keep).unsqueeze(3) * z + (own + give).unsqueeze(3) * (1 - z)
        price = price + self.prior / blocks**2 * self._surprise(share).to(x)
        parts = price, right + unit, down + unit
        return tuple(part.double().cpu().numpy() for part in parts)  # type: ignore[return-value]

    def assemble(self, x: Tensor, saliency: Tensor, pairs: Tensor, mask: Tensor) -> Tensor:
        """``z * x + (1 - z) * x[pairs]`` with the patches of both moved to where they show."""
        own, other = x, x[pairs]
        if self.transport > 0 and mask.shape[1] > 1:
            blocks = self._patches(x, mask.shape[1])
            fine = F.interpolate(mask.unsqueeze(1), size=(blocks, blocks))[:, 0]
            weight = pool(saliency.unsqueeze(1), blocks)[:, 0]
            weight = weight / weight.sum(dim=(1, 2), keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)
            own = move_patches(own, transport_plan(weight, fine > 0, price=self.transport))
            other = move_patches(other, transport_plan(weight[pairs], fine < 1, price=self.transport))
        full = F.interpolate(mask.unsqueeze(1), size=x.shape[2:])
        return full * own + (1 - full) * other

    def _surprise(self, share: float) -> Tensor:
        """``-log`` of the Binomial(levels - 1, share) law at each mask value."""
        share = min(max(share, 1e-6), 1 - 1e-6)
        top = self.levels - 1
        return -torch.tensor(
            [
                math.log(math.comb(top, hits)) + hits * math.log(share) + (top - hits) * math.log(1 - share)
                for hits in range(self.levels)
            ],
            dtype=torch.float64,
        )

    def _grid(self, x: Tensor, draw: float) -> int:
        fitting = [one for one in self.grids if x.shape[2] % one == 0 and x.shape[3] % one == 0]
        if not fitting:
            size = f"{x.shape[2]}x{x.shape[3]}"
            raise InputError(f"PuzzleMix: none of grids={self.grids} divides images of {size}; name others")
        return fitting[int(draw * len(fitting))]

    def _patches(self, x: Tensor, blocks: int) -> int:
        """How many patches a side move: at least as fine as the mask."""
        side = self.transport_patch
        if side == 0 or x.shape[2] != x.shape[3] or x.shape[2] % side or (x.shape[2] // side) % blocks:
            return blocks
        return int(x.shape[2] // side)


def input_saliency(model: Classifier, x: Tensor, y: Tensor) -> Tensor:
    """``sqrt(mean_c (d CE / d x_c)^2)`` for each pixel, in eval mode: ``(n, c, h, w) -> (n, h, w)``."""
    with torch.enable_grad(), evaluating(model), frozen(model):
        point = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(labels.cross_entropy(model(point), y).sum(), point)
    saliency: Tensor = gradient.square().mean(dim=1).sqrt()
    return saliency
