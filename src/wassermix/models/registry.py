"""The architectures by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["MODELS"]

MODELS = Registry(
    "model",
    "wassermix.models",
    {
        "lenet": "wassermix.models.lenet:LeNet",
        "resnet20": "wassermix.models.resnet:resnet20",
        "resnet110": "wassermix.models.resnet:resnet110",
        "preact_resnet18": "wassermix.models.preact_resnet:PreActResNet18",
        "mlp": "wassermix.models.mlp:MLP",
        "wide_resnet": "wassermix.models.wide_resnet:WideResNet",
        "ensemble": "wassermix.models.ensemble:Ensemble",
    },
)
"""``model=NAME``; the factory's keyword arguments are the config's keys."""
