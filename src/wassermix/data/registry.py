"""The data sets by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["DATA"]

DATA = Registry(
    "data",
    "wassermix.data",
    {
        "mnist5k": "wassermix.data.mnist5k:load_mnist5k",
        "mnist": "wassermix.data.idx:load_mnist",
        "fashion-mnist": "wassermix.data.idx:load_fashion_mnist",
        "cifar10": "wassermix.data.cifar:load_cifar10",
        "cifar100": "wassermix.data.cifar:load_cifar100",
        "tiny-imagenet": "wassermix.data.tiny_imagenet:load_tiny_imagenet",
        "gaussians": "wassermix.data.gaussians:load_gaussians",
    },
)
"""``data=NAME``: functions that return a Dataset; their keyword arguments are the config's keys."""
