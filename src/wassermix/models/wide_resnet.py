"""Wide residual nets: WRN-28-10, the net of the papers on CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize
from wassermix.models.preact_resnet import preact_stage

__all__ = ["WideResNet"]


class WideResNet(nn.Module):
    """Wide ResNet of ``depth = 6 b + 4`` (Zagoruyko and Komodakis 2016): three stages of ``b`` blocks.

    Stages are 16, 32 and 64 times the ``width``; WRN-28-10 has 36.5 M parameters. Blocks are pre-activation
    ones, batch norm and ReLU come before the last layer. Stages by name: ``stem``, ``stage1``, ``stage2``,
    ``stage3``, ``fc``.
    """

    def __init__(
        self,
        *,
        num_classes: int = 10,
        shape: tuple[int, ...] = (3, 32, 32),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
        depth: int = 28,
        width: int = 10,
    ) -> None:
        super().__init__()
        if len(shape) != 3 or min(shape[1:]) < 4:
            raise InputError(
                f"model 'wide_resnet' takes images of at least 4x4 pixels; got samples of shape {shape}; "
                "use model=mlp"
            )
        if depth < 10 or (depth - 4) % 6 or width < 1:
            raise InputError(
                f"a Wide ResNet has depth 6 b + 4 and width >= 1; got depth {depth}, width {width}"
            )
        blocks = (depth - 4) // 6
        self.normalize = Normalize(shape, mean, std)
        self.stem = nn.Conv2d(shape[0], 16, 3, padding=1, bias=False)
        self.stage1 = preact_stage(16, 16 * width, blocks, stride=1)
        self.stage2 = preact_stage(16 * width, 32 * width, blocks, stride=2)
        self.stage3 = preact_stage(32 * width, 64 * width, blocks, stride=2)
        self.bn = nn.BatchNorm2d(64 * width)
        self.fc = nn.Linear(64 * width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` in [0,1] to logits ``(n, k)``."""
        features = self.stage3(self.stage2(self.stage1(self.stem(self.normalize(x)))))
        return self.fc(F.relu(self.bn(features)).mean(dim=(2, 3)))  # type: ignore[no-any-return]
