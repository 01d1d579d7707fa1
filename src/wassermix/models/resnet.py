"""Residual nets for 32-pixel images: ResNet-20 and ResNet-110, the nets of the certified-training papers."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor, nn

from wassermix.core.errors import InputError
from wassermix.models.normalize import Normalize

__all__ = ["ResNet", "resnet20", "resnet110"]


class BasicBlock(nn.Module):
    """``relu(bn(conv(relu(bn(conv x)))) + shortcut(x))`` with 3x3 convolutions.

    The shortcut is the identity, or a 1x1 convolution with batch norm where size or width change.
    """

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride=stride, bias=False), nn.BatchNorm2d(outside)
            )

    def forward(self, x: Tensor) -> Tensor:
        """``(n, inside, h, w)`` to ``(n, outside, h / stride, w / stride)``."""
        inner = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(inner + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet of ``depth = 6 b + 2``: three stages of ``b`` blocks, of 1, 2 and 4 times the ``width``.

    Stages by name: ``stem``, ``stage1``, ``stage2``, ``stage3``, ``fc``.
    """

    def __init__(
        self,
        *,
        num_classes: int = 10,
        shape: tuple[int, ...] = (3, 32, 32),
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
        depth: int = 20,
        width: int = 16,
    ) -> None:
        super().__init__()
        if len(shape) != 3 or min(shape[1:]) < 4:
            raise InputError(f"model 'resnet{depth}' takes images; got samples of shape {shape}")
        if depth < 8 or (depth - 2) % 6 or width < 1:
            raise InputError(f"a ResNet has depth 6 b + 2 and width >= 1; got depth {depth}, width {width}")
        blocks = (depth - 2) // 6
        self.normalize = Normalize(shape, mean, std)
        self.stem = nn.Sequential(
            nn.Conv2d(shape[0], width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.stage1 = _stage(width, width, blocks, stride=1)
        self.stage2 = _stage(width, 2 * width, blocks, stride=2)
        self.stage3 = _stage(2 * width, 4 * width, blocks, stride=2)
        self.fc = nn.Linear(4 * width, num_classes)
        self.apply(_draw)

    def forward(self, x: Tensor) -> Tensor:
        """Images ``(n, C, H, W)`` in [0,1] to logits ``(n, k)``."""
        features = self.stage3(self.stage2(self.stage1(self.stem(self.normalize(x)))))
        return self.fc(features.mean(dim=(2, 3)))  # type: ignore[no-any-return]


def _stage(inside: int, outside: int, blocks: int, *, stride: int) -> nn.Sequential:
    first = BasicBlock(inside, outside, stride)
    return nn.Sequential(first, *(BasicBlock(outside, outside, 1) for _ in range(blocks - 1)))


def _draw(module: nn.Module) -> None:
    """Convolutions start from ``N(0, 2 / (k^2 c_out))``; batch norm starts as the identity by itself."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
        nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 / fan_out))


def resnet20(
    *,
    num_classes: int = 10,
    shape: tuple[int, ...] = (3, 32, 32),
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    width: int = 16,
) -> ResNet:
    """ResNet-20: three stages of three blocks; about 0.27 M parameters."""
    return ResNet(num_classes=num_classes, shape=shape, mean=mean, std=std, depth=20, width=width)


def resnet110(
    *,
    num_classes: int = 10,
    shape: tuple[int, ...] = (3, 32, 32),
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    width: int = 16,
) -> ResNet:
    """ResNet-110: three stages of 18 blocks, the net of certified training; about 1.73 M parameters."""
    return ResNet(num_classes=num_classes, shape=shape, mean=mean, std=std, depth=110, width=width)
