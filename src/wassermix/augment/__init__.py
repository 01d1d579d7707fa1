"""Which extra samples: the augmenters."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.augment.cutmix import CutMix
    from wassermix.augment.features import FeatureGeodesic
    from wassermix.augment.geodesic import GeodesicAugmenter
    from wassermix.augment.jitter import Jitter
    from wassermix.augment.joint import JointGeodesic
    from wassermix.augment.kmixup import KMixup
    from wassermix.augment.manifold import ManifoldMixup
    from wassermix.augment.mixup import Mixup
    from wassermix.augment.puzzlemix import PuzzleMix
    from wassermix.augment.registry import AUGMENTERS
    from wassermix.augment.sampler import GeodesicSampler, augment_to_file
    from wassermix.augment.simplex import SimplexAugmenter
    from wassermix.augment.stored import AugmentedSet
    from wassermix.augment.within_class import WithinClass

__all__ = [
    "AUGMENTERS",
    "AugmentedSet",
    "CutMix",
    "FeatureGeodesic",
    "GeodesicAugmenter",
    "GeodesicSampler",
    "Jitter",
    "JointGeodesic",
    "KMixup",
    "ManifoldMixup",
    "Mixup",
    "PuzzleMix",
    "SimplexAugmenter",
    "WithinClass",
    "augment_to_file",
]

__getattr__ = lazy_names(__name__)
