"""The first layer of every model: from the data scale to what the weights like."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from wassermix.core.errors import InputError

__all__ = ["Normalize"]


class Normalize(nn.Module):
    """``(x - mean) / std`` for each channel of ``(n, C, H, W)`` or each feature of ``(n, d)``.

    Part of the model, so that noise, attacks and radii live on the data scale. Mean 0 and deviation 1
    (the default) cost nothing.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, shape: tuple[int, ...], mean: Sequence[float] | None = None, std: Sequence[float] | None = None
    ) -> None:
        super().__init__()
        self.register_buffer("mean", _column(shape, mean, 0.0))
        self.register_buffer("std", _column(shape, std, 1.0))
        if (self.std <= 0).any():
            raise InputError(f"std must be above 0 everywhere; got {std}")
        self.register_load_state_dict_post_hook(_notice)
        self.notice()

    def notice(self) -> None:
        """Remember whether there is anything to do; called again when other values are loaded."""
        self.identity = bool((self.mean == 0).all() and (self.std == 1).all())

    def forward(self, x: Tensor) -> Tensor:
        """Normalised inputs, of the same shape."""
        return x if self.identity else (x - self.mean) / self.std


def _notice(module: nn.Module, _: object) -> None:
    """After weights are loaded; a function of the module, so that models can be pickled and copied."""
    assert isinstance(module, Normalize)
    module.notice()


def _column(shape: tuple[int, ...], values: Sequence[float] | None, default: float) -> Tensor:
    channels = shape[0]
    column = torch.tensor([default] if values is None else list(values), dtype=torch.float32)
    if len(column) not in (1, channels) or not column.isfinite().all():
        raise InputError(
            f"mean and std take {channels} finite numbers for samples of shape {shape}; got {values}"
        )
    return column.expand(channels).clone().reshape(-1, *(1,) * (len(shape) - 1))
