"""Drift problems with known answers: Gaussian classes, a fixed linear classifier, shifts that we choose."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from wassermix.core.samples import TensorSamples
from wassermix.drift.reference import Reference
from wassermix.drift.views import Looker, View


def classes(count: int, *, seed: int, k: int = 3, dim: int = 4, spread: float = 1.0) -> tuple[Tensor, Tensor]:
    """``k`` Gaussian classes around the corners of a simplex, equal shares."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(count) % k
    x = 4 * torch.eye(k, dim)[y] + spread * torch.randn(count, dim, generator=generator)
    return x, y


class Corners(nn.Module):
    """The classifier that decides for the nearest corner, with a hidden layer to look at."""

    def __init__(self, k: int = 3, dim: int = 4) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, k)
        with torch.no_grad():
            self.hidden.weight.copy_(torch.eye(dim))
            self.hidden.bias.zero_()
            self.out.weight.copy_(4 * torch.eye(k, dim))
            self.out.bias.fill_(-8.0)

    def forward(self, x: Tensor) -> Tensor:
        """Logits: the log-likelihood of each corner up to a constant."""
        return self.out(self.hidden(x))


def reference(count: int = 300, *, seed: int = 0) -> tuple[Reference, Looker]:
    """A labelled reference and what looks at other samples."""
    x, y = classes(count, seed=seed)
    looker = Looker(Corners())
    return Reference(looker.fit(TensorSamples(x, y)), y.numpy()), looker


def seen(looker: Looker, x: Tensor) -> View:
    """The view of new samples."""
    return looker.look(TensorSamples(x, torch.zeros(len(x), dtype=torch.int64)))


def turned(x: Tensor, degrees: float = 52.0) -> Tensor:
    """Three classes turned about their centre: towards each other alike, so that no class seems to grow."""
    corners = 4 * torch.eye(3, 4)
    centre = corners.mean(0)
    first = torch.nn.functional.normalize(corners[0] - centre, dim=0)
    second = corners[1] - centre
    second = torch.nn.functional.normalize(second - (second @ first) * first, dim=0)
    basis, angle = torch.stack([first, second]), torch.deg2rad(torch.tensor(degrees))
    spin = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])
    flat = (x - centre) @ basis.T
    return x + (flat @ spin - flat) @ basis


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)
