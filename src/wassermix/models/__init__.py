"""Models: each takes inputs on their data scale, normalises them in its first layer and returns logits."""

from wassermix.models.build import MODELS, build_model
from wassermix.models.lenet import LeNet
from wassermix.models.mlp import MLP
from wassermix.models.normalize import Normalize

__all__ = ["MLP", "MODELS", "LeNet", "Normalize", "build_model"]
