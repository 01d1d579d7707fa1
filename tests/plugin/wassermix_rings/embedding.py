"""An embedding: a differentiable way there and back."""

from __future__ import annotations

import torch
from torch import Tensor

from wassermix.embed import Embedding


class Polar(Embedding):
    """The plane as logarithm of the radius and direction, so that rings are straight."""

    name = "polar"

    def encode(self, x: Tensor) -> Tensor:
        """``(n, 2) -> (n, 3)``: log radius, cosine, sine."""
        radius = x.norm(dim=1, keepdim=True).clamp_min(1e-6)
        return torch.cat([radius.log(), x / radius], dim=1)

    def decode(self, z: Tensor) -> Tensor:
        """``(n, 3) -> (n, 2)``."""
        return z[:, :1].exp() * z[:, 1:]
