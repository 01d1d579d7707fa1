"""Training: from a config to a run directory."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.engine.build import Parts, build_parts, load_dataset, make_model
    from wassermix.engine.cost import TrainingCost, estimate_training
    from wassermix.engine.loop import TrainState, train
    from wassermix.engine.objective import Extras, Objective
    from wassermix.engine.run import Run, load_run, train_run
    from wassermix.engine.rundir import RunDir
    from wassermix.engine.target import Target

__all__ = [
    "Extras",
    "Objective",
    "Parts",
    "Run",
    "RunDir",
    "Target",
    "TrainState",
    "TrainingCost",
    "build_parts",
    "estimate_training",
    "load_dataset",
    "load_run",
    "make_model",
    "train",
    "train_run",
]

__getattr__ = lazy_names(__name__)
