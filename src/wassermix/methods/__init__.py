"""Training methods: which loss for this batch?"""

from wassermix.methods.batch import Batch
from wassermix.methods.consistency import Consistency
from wassermix.methods.erm import ERM
from wassermix.methods.gaussian import Gaussian
from wassermix.methods.macer import MACER
from wassermix.methods.method import Method
from wassermix.methods.stability import Stability

METHODS: dict[str, type[Method]] = {
    "erm": ERM,
    "gaussian": Gaussian,
    "stability": Stability,
    "macer": MACER,
    "consistency": Consistency,
}
"""Name in a config -> method; the constructor's keyword arguments are the config's keys."""

__all__ = ["ERM", "MACER", "METHODS", "Batch", "Consistency", "Gaussian", "Method", "Stability"]
