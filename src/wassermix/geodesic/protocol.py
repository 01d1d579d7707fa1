"""What is asked of a regulariser: a further term of the loss, on clean samples."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from wassermix.core.classifier import Classifier
from wassermix.core.samples import LabelledSamples
from wassermix.embed import Embedding

__all__ = ["Regularizer"]


@runtime_checkable
class Regularizer(Protocol):
    """Which further term for this batch?

    A regulariser is any object with these two; it needs no base class. It may have besides ``reference`` (a
    line for ``wassermix methods``), ``needs_images = True`` (refused beforehand on samples that are no
    images), and on the class ``wants_embedding = True`` (a config without ``embed=`` gets the default one).
    """

    def batch_passes(self, size: int, /) -> float:
        """Forward+backward passes that the term costs for one batch of ``size`` samples."""
        ...

    def loss(
        self,
        model: Classifier,
        x: Tensor,
        y: Tensor,
        *,
        embed: Embedding | None = None,
        generator: torch.Generator | None = None,
        sigma: float = 0.0,
        progress: float = 0.0,
        source: LabelledSamples | None = None,
    ) -> Tensor:
        """The weighted term for clean samples ``x (n, ...)`` with labels ``y``, hard ``(n,)`` or soft.

        ``sigma`` is the method's noise, ``progress`` the share of training done, ``source`` the training
        split where it can be drawn from at no cost.
        """
        ...
