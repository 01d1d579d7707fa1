"""Leading components of inputs or features: fitted on some samples, then the same for all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wassermix.embed import PCA, Embedding

__all__ = ["Components"]

KEYS = ("mean", "components", "scale")


class Components:
    """Principal components, of tables after each column is put into standard deviations."""

    def __init__(self, size: int, *, standardize: bool) -> None:
        self.size, self.standardize = size, standardize
        self.mean, self.spread = torch.zeros(()), torch.ones(())
        self.embed: Embedding | None = None

    def fit(self, x: Tensor) -> Self:
        """Fit on samples ``(n, ...)``."""
        if self.standardize and x.dim() == 2:  # columns of a table may be measured in any unit
            self.mean, spread = x.mean(0), x.std(0, correction=0)
            self.spread = torch.where(spread > 1e-8 * (1 + self.mean.abs()), spread, torch.ones_like(spread))
        self.embed = PCA(size=self.size).fit((x - self.mean) / self.spread)
        return self

    def encode(self, x: Tensor) -> NDArray[np.float64]:
        """The components ``(n, size)`` of any samples."""
        assert self.embed is not None
        return self.embed.encode((x - self.mean) / self.spread).detach().cpu().numpy().astype(np.float64)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """What a fit has found, to be stored under keys that begin with ``name``."""
        assert self.embed is not None
        found = {"column_mean": self.mean, "column_spread": self.spread, **self.embed.state_dict()}
        found["shape"] = torch.tensor(self.embed.shape)
        return {f"{name}_{key}": value.numpy() for key, value in found.items()}

    def restore(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        self.mean, self.spread = (
            torch.from_numpy(arrays[f"{name}_column_{key}"]) for key in ("mean", "spread")
        )
        tensors = {key: torch.from_numpy(arrays[f"{name}_{key}"]) for key in KEYS}
        shape = tuple(arrays[f"{name}_shape"].tolist())
        self.embed = PCA(size=len(tensors["components"])).restore(tensors, shape)
