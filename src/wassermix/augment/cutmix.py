"""CutMix: a rectangle of one image pasted into another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from wassermix.augment.mixing import BatchMixing, beta_share, mix_labels, pairing
from wassermix.core.classifier import Classifier
from wassermix.core.draws import uniform
from wassermix.core.errors import InputError

__all__ = ["CutMix", "cut_box"]


@dataclass(frozen=True, kw_only=True)
class CutMix(BatchMixing):
    """A rectangle of each image replaced by that of a random partner; labels mix by area.

    Sides ``sqrt(1 - l)`` of the image's, ``l ~ Beta(beta, beta)``, a centre drawn uniformly, clipped at the
    border; one rectangle a batch, and the labels' share is the area that is left. Only for images.

    Args:
        beta: the parameter of the Beta law.
        probability: the share of batches that are cut; the others pass with soft labels.
    """

    probability: float = 1.0

    needs_images: ClassVar[bool] = True
    reference: ClassVar[str] = "Yun et al. 2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.probability <= 1:
            raise InputError(f"CutMix: probability is {self.probability!r}; expected a number in [0, 1]")

    def mixed(
        self, x: Tensor, y: Tensor, model: Classifier | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """The cut batch; the model is not asked."""
        if x.dim() != 4:
            raise InputError(f"CutMix works on images (n, c, h, w); got inputs {tuple(x.shape)}")
        chance, column, row = uniform((3,), generator, torch.device("cpu")).tolist()
        if chance >= self.probability:
            return x, y
        size = x.shape[2], x.shape[3]
        top, bottom, left, right = cut_box(beta_share(self.beta, generator), size, centre=(row, column))
        pairs = pairing(len(x), generator, x.device)
        mixed = x.clone()
        mixed[:, :, top:bottom, left:right] = x[pairs, :, top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / (size[0] * size[1])
        return mixed, mix_labels(y, pairs, share)


def cut_box(share: float, size: tuple[int, int], *, centre: tuple[float, float]) -> tuple[int, int, int, int]:
    """``top, bottom, left, right`` of a box that covers ``1 - share`` of an image, before it is clipped.

    ``centre`` is in ``[0, 1)^2``, as shares of ``size = (h, w)``.
    """
    half = 0.5 * math.sqrt(1 - share)
    edges = []
    for side, where in zip(size, centre):
        middle, reach = int(where * side), int(half * side)
        edges += [max(middle - reach, 0), min(middle + reach, side)]
    return edges[0], edges[1], edges[2], edges[3]
