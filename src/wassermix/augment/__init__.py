"""Which extra samples: the registry of augmenters."""

from __future__ import annotations

from typing import Any

from wassermix.augment.cutmix import CutMix
from wassermix.augment.geodesic import GeodesicAugmenter
from wassermix.augment.kmixup import KMixup
from wassermix.augment.manifold import ManifoldMixup
from wassermix.augment.mixup import Mixup
from wassermix.augment.puzzlemix import PuzzleMix
from wassermix.augment.stored import AugmentedSet

__all__ = [
    "AUGMENTERS",
    "AugmentedSet",
    "CutMix",
    "GeodesicAugmenter",
    "KMixup",
    "ManifoldMixup",
    "Mixup",
    "PuzzleMix",
]

AUGMENTERS: dict[str, Any] = {
    "geodesic": GeodesicAugmenter,
    "mixup": Mixup,
    "kmixup": KMixup,
    "cutmix": CutMix,
    "manifold": ManifoldMixup,
    "puzzlemix": PuzzleMix,
}
