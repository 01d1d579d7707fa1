"""PreActResNet18: the net of the mixup papers on CIFAR-100 and Tiny-ImageNet."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize

__all__ = ["PreActResNet18", "preact_stage"]


class PreActBlock(nn.Module):
    """``conv(relu(bn(conv(a)))) + shortcut`` with ``a = relu(bn(x))`` and 3x3 convolutions.

    The shortcut is ``x``, or a 1x1 convolution of ``a`` where size or width change.
    """

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inside)
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        changes = stride != 1 or inside != outside
        self.shortcut = nn.Conv2d(inside, outside, 1, stride=stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        """``(n, inside, h, w)`` to ``(n, outside, h / stride, w / stride)``."""
        active = F.relu(self.bn1(x))
        kept = x if self.shortcut is None else self.shortcut(active)
        return self.conv2(F.relu(self.bn2(self.conv1(active)))) + kept  # type: ignore[no-any-return]


class PreActResNet18(nn.Module):
    """PreActResNet18: four stages of two pre-activation blocks; about 11.2 M parameters.

    The stem halves images of 64 pixels and more, so that 32 and 64 pixels both end at 4x4. Stages by name:
    ``stem``, ``stage1``, ``stage2``, ``stage3``, ``stage4``, ``fc``.
    """

    def __init__(
        self,
        *,
        num_classes: int = 100,
        shape: tuple[int, ...] = (3, 32, 32),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
        width: int = 64,
    ) -> None:
        super().__init__()
        if len(shape) != 3 or min(shape[1:]) < 8 or width < 1:
            raise InputError(
                "model 'preact_resnet18' takes images of at least 8x8 pixels and a width >= 1; "
                f"got samples of shape {shape}, width {width}"
            )
        self.normalize = Normalize(shape, mean, std)
        halve = 2 if min(shape[1:]) >= 64 else 1
        self.stem = nn.Conv2d(shape[0], width, 3, stride=halve, padding=1, bias=False)
        self.stage1 = preact_stage(width, width, 2, stride=1)
        self.stage2 = preact_stage(width, 2 * width, 2, stride=2)
        self.stage3 = preact_stage(2 * width, 4 * width, 2, stride=2)
        self.stage4 = preact_stage(4 * width, 8 * width, 2, stride=2)
        self.fc = nn.Linear(8 * width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` in [0,1] to logits ``(n, k)``."""
        features = self.stage2(self.stage1(self.stem(self.normalize(x))))
        return self.fc(self.stage4(self.stage3(features)).mean(dim=(2, 3)))  # type: ignore[no-any-return]


def preact_stage(inside: int, outside: int, blocks: int, *, stride: int) -> nn.Sequential:
    """``blocks`` pre-activation blocks, of which the first changes width and size."""
    first = PreActBlock(inside, outside, stride)
    return nn.Sequential(first, *(PreActBlock(outside, outside, 1) for _ in range(blocks - 1)))
