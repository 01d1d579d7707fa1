"""Models: each takes inputs on their data scale, normalises them in its first layer and returns logits."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.models.build import build_model
    from wassermix.models.ensemble import Ensemble
    from wassermix.models.lenet import LeNet
    from wassermix.models.mlp import MLP
    from wassermix.models.normalize import Normalize
    from wassermix.models.preact_resnet import PreActResNet18
    from wassermix.models.registry import MODELS
    from wassermix.models.resnet import ResNet, resnet20, resnet110
    from wassermix.models.wide_resnet import WideResNet

__all__ = [
    "MLP",
    "MODELS",
    "Ensemble",
    "LeNet",
    "Normalize",
    "PreActResNet18",
    "ResNet",
    "WideResNet",
    "build_model",
    "resnet20",
    "resnet110",
]

__getattr__ = lazy_names(__name__)
