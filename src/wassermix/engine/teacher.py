"""The network that a method learns from besides the labels: the weights' average, or another run's."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from wassermix.core.errors import InputError
from wassermix.data import Dataset
from wassermix.engine.average import WeightAverage
from wassermix.engine.build import make_model
from wassermix.engine.rundir import RunDir
from wassermix.methods import Method
from wassermix.methods.protocol import teacher_of
from wassermix.methods.teacher import AVERAGE, OWN

__all__ = ["find_teacher"]


def find_teacher(method: Method, average: WeightAverage | None, data: Dataset) -> nn.Module | None:
    """What the method's ``teacher`` names, in eval mode; None where it needs no other network."""
    name = teacher_of(method)
    if name == OWN:
        return None
    if name != AVERAGE:
        return _trained(Path(name), data)
    if average is None:
        raise InputError("the method's teacher is the weights' average; keep one, as in average=0.999")
    return average.model


def _trained(path: Path, data: Dataset) -> nn.Module:
    run = RunDir(path)
    model = make_model(run.config(), data)
    run.load_weights(model)
    return model.eval().requires_grad_(False)
