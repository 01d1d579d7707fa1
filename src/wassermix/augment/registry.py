"""The augmenters by name; a line here is all that another one needs."""

from __future__ import annotations

from wassermix.core.registry import Registry

__all__ = ["AUGMENTERS"]

AUGMENTERS = Registry(
    "augment",
    "wassermix.augmenters",
    {
        "geodesic": "wassermix.augment.geodesic:GeodesicAugmenter",
        "simplex": "wassermix.augment.simplex:SimplexAugmenter",
        "joint": "wassermix.augment.joint:JointGeodesic",
        "feature-geodesic": "wassermix.augment.features:FeatureGeodesic",
        "mixup": "wassermix.augment.mixup:Mixup",
        "kmixup": "wassermix.augment.kmixup:KMixup",
        "cutmix": "wassermix.augment.cutmix:CutMix",
        "manifold": "wassermix.augment.manifold:ManifoldMixup",
        "within-class": "wassermix.augment.within_class:WithinClass",
        "jitter": "wassermix.augment.jitter:Jitter",
        "puzzlemix": "wassermix.augment.puzzlemix:PuzzleMix",
    },
)
"""``augment=NAME``; the constructor's keyword arguments are the config's keys."""
