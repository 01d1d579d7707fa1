"""LeNet: the small convolutional net of the certified-training papers on MNIST."""

from __future__ import annotations

from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize
from wassermix.models.pooled import PooledStage

__all__ = ["LeNet"]


class LeNet(nn.Module):
    """LeNet: two 5x5 convolutions (20, 50) with pooling, then 500 units; 431,080 parameters on 28x28x1.

    Stages by name: ``stage1``, ``stage2`` (after their pooling), ``hidden`` (n, 500), ``fc``.
    """

    def __init__(
        self,
        *,
        num_classes: int = 10,
        shape: tuple[int, ...] = (1, 28, 28),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        if len(shape) != 3 or min(shape[1:]) < 16:
            raise InputError(
                f"model 'lenet' takes images of at least 16x16 pixels; got samples of shape {shape}; "
                f"use model={'resnet20' if len(shape) == 3 and min(shape[1:]) >= 4 else 'mlp'}"
            )
        height, width = (((side - 4) // 2 - 4) // 2 for side in shape[1:])
        self.normalize = Normalize(shape, mean, std)
        self.stage1 = PooledStage(nn.Conv2d(shape[0], 20, 5), nn.MaxPool2d(2), nn.ReLU())
        self.stage2 = PooledStage(nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.ReLU())
        self.hidden = nn.Sequential(nn.Linear(50 * height * width, 500), nn.ReLU())
        self.fc = nn.Linear(500, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` in [0,1] to logits ``(n, k)``."""
        features = self.stage2(self.stage1(self.normalize(x)))
        return self.fc(self.hidden(features.flatten(1)))  # type: ignore[no-any-return]
