"""Training methods: which loss for this batch?"""

from wassermix.methods.augmix import AugMix
from wassermix.methods.batch import Batch
from wassermix.methods.catrs import CATRS
from wassermix.methods.compatible import compatible
from wassermix.methods.consistency import Consistency
from wassermix.methods.erm import ERM
from wassermix.methods.gaussian import Gaussian
from wassermix.methods.macer import MACER
from wassermix.methods.method import Method
from wassermix.methods.pgd import PGDTraining
from wassermix.methods.phases import Phases
from wassermix.methods.smoothadv import SmoothAdv
from wassermix.methods.smoothmix import SmoothMix
from wassermix.methods.stability import Stability
from wassermix.methods.trades import TRADES

METHODS: dict[str, type[Method]] = {
    "erm": ERM,
    "pgd": PGDTraining,
    "trades": TRADES,
    "augmix": AugMix,
    "gaussian": Gaussian,
    "stability": Stability,
    "smoothadv": SmoothAdv,
    "macer": MACER,
    "consistency": Consistency,
    "smoothmix": SmoothMix,
    "catrs": CATRS,
    "phases": Phases,
}
"""Name in a config -> method; the constructor's keyword arguments are the config's keys."""

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
