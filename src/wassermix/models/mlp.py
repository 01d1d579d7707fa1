"""A multilayer perceptron for plain vectors (and for images, flattened)."""

from __future__ import annotations

import math
from itertools import pairwise

from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize

__all__ = ["MLP"]


class MLP(nn.Module):
    """MLP: fully connected layers of the ``hidden`` widths with ReLU; none of them: a linear classifier.

    Stages by name: ``stage1``, ``stage2``, ... (after their ReLU), ``fc``.
    """

    def __init__(
        self,
        *,
        num_classes: int = 2,
        shape: tuple[int, ...] = (2,),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
        hidden: tuple[int, ...] = (256, 256),
    ) -> None:
        super().__init__()
        if any(width < 1 for width in hidden):
            raise InputError(f"model 'mlp': hidden={list(hidden)}; expected widths of at least 1")
        widths = [math.prod(shape), *hidden]
        self.normalize = Normalize(shape, mean, std)
        self.depth = len(hidden)
        for number, (inside, outside) in enumerate(pairwise(widths), start=1):
            self.add_module(f"stage{number}", nn.Sequential(nn.Linear(inside, outside), nn.ReLU()))
        self.fc = nn.Linear(widths[-1], num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Samples ``(n, ...)`` to logits ``(n, k)``."""
        features = self.normalize(x).flatten(1)
        for number in range(1, self.depth + 1):
            features = self.get_submodule(f"stage{number}")(features)
        return self.fc(features)  # type: ignore[no-any-return]
