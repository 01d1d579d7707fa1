"""Training methods: which loss for this batch?"""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.methods.augmix import AugMix
    from wassermix.methods.batch import Batch
    from wassermix.methods.catrs import CATRS
    from wassermix.methods.compatibility import compatible
    from wassermix.methods.consistency import Consistency
    from wassermix.methods.erm import ERM
    from wassermix.methods.gaussian import Gaussian
    from wassermix.methods.macer import MACER
    from wassermix.methods.pgd import PGDTraining
    from wassermix.methods.phases import Phases
    from wassermix.methods.protocol import Method
    from wassermix.methods.registry import METHODS
    from wassermix.methods.smoothadv import SmoothAdv
    from wassermix.methods.smoothmix import SmoothMix
    from wassermix.methods.stability import Stability
    from wassermix.methods.trades import TRADES

__all__ = [
    "CATRS",
    "ERM",
    "MACER",
    "METHODS",
    "TRADES",
    "AugMix",
    "Batch",
    "Consistency",
    "Gaussian",
    "Method",
    "PGDTraining",
    "Phases",
    "SmoothAdv",
    "SmoothMix",
    "Stability",
    "compatible",
]

__getattr__ = lazy_names(__name__)
