"""Training: from a config to a run directory."""

from wassermix.engine.build import Parts, build_parts, load_dataset, make_model
from wassermix.engine.loop import TrainState, train
from wassermix.engine.objective import Extras, Objective
from wassermix.engine.rundir import RunDir

__all__ = [
    "Extras",
    "Objective",
    "Parts",
    "RunDir",
    "TrainState",
    "build_parts",
    "load_dataset",
    "make_model",
    "train",
]
