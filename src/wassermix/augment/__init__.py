"""Which extra samples: the registry of augmenters."""

from __future__ import annotations

from typing import Any

from wassermix.augment.cutmix import CutMix
from wassermix.augment.features import FeatureGeodesic
from wassermix.augment.geodesic import GeodesicAugmenter
from wassermix.augment.kmixup import KMixup
from wassermix.augment.manifold import ManifoldMixup
from wassermix.augment.mixup import Mixup
from wassermix.augment.puzzlemix import PuzzleMix
from wassermix.augment.sampler import GeodesicSampler, augment_to_file
from wassermix.augment.simplex import SimplexAugmenter
from wassermix.augment.stored import AugmentedSet

__all__ = [
    "AUGMENTERS",
    "AugmentedSet",
    "CutMix",
    "FeatureGeodesic",
    "GeodesicAugmenter",
    "GeodesicSampler",
    "KMixup",
    "ManifoldMixup",
    "Mixup",
    "PuzzleMix",
    "SimplexAugmenter",
    "augment_to_file",
]

AUGMENTERS: dict[str, Any] = {
    "geodesic": GeodesicAugmenter,
    "simplex": SimplexAugmenter,
    "feature-geodesic": FeatureGeodesic,
    "mixup": Mixup,
    "kmixup": KMixup,
    "cutmix": CutMix,
    "manifold": ManifoldMixup,
    "puzzlemix": PuzzleMix,
}
