"""The network of another run that a method learns from besides the labels."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from wassermix.core.errors import InputError
from wassermix.data import Dataset
from wassermix.engine.budget import make_budget
from wassermix.engine.build import Parts, device_of, make_model
from wassermix.engine.rundir import RunDir
from wassermix.engine.settings import Config, imported_code
from wassermix.methods.protocol import Method, counting_of, teacher_of
from wassermix.methods.teacher import AVERAGE, OWN

__all__ = ["check_teacher", "find_teacher", "passes_beforehand"]


def find_teacher(config: Config, parts: Parts) -> nn.Module | None:
    """The network of the run that the method's ``teacher`` names, in eval mode; None where it names none.

    Called before a run is begun, so that a teacher that cannot be had is refused in time.
    """
    check_teacher(config, parts.method, parts.data)
    name = teacher_of(parts.method)
    return None if name in (OWN, AVERAGE) else _trained(Path(name), config, parts.data)


def check_teacher(config: Config, method: Method, data: Dataset) -> None:
    """Refuse a teacher that is not there, is not trained to its end, or would use up the budget."""
    name = teacher_of(method)
    if name == AVERAGE and not config.average:
        raise InputError("the method's teacher is the weights' average; keep one, as in average=0.999")
    if name not in (OWN, AVERAGE):
        _require_trained(Path(name))
    _require_affordable(config, method, len(data.train))


def _require_trained(teacher: Path) -> None:
    run = RunDir(teacher)
    if not run.weights_file.exists():
        missing = run.weights_file.name
        raise InputError(f"the method's teacher '{teacher}' is no trained run: it has no {missing}")
    if (share := run.trained_share()) < 1:
        raise InputError(
            f"the method's teacher '{teacher}' has done {share:.0%} of its training; let it end first"
        )


def passes_beforehand(method: Method, samples: int) -> float:
    """What a teacher's votes on all training samples cost before the first step: a forward is a third."""
    counting = counting_of(method)
    return 0.0 if counting is None else counting.passes * samples


def _require_affordable(config: Config, method: Method, samples: int) -> None:
    """Refuse a budget that a teacher's votes would use up before the first step."""
    budget, votes = make_budget(config, samples), passes_beforehand(method, samples)
    if budget.unit == "passes" and votes >= budget.amount:
        raise InputError(
            f"the votes of the method's teacher on {samples:,} training samples cost {votes:,.0f} passes, "
            f"a third of one for each of method.draws, but the budget is passes:{budget.amount:.0f}; "
            "lower method.draws, raise the budget, or let the weights' average teach: "
            "method.teacher=average average=0.999"
        )


def _trained(path: Path, config: Config, data: Dataset) -> nn.Module:
    """Another run's network; of code, it may name only what this training's own config names too."""
    run = RunDir(path)
    known = set(imported_code(config.model_dump(mode="json")))
    model = make_model(run.config(trust=set(imported_code(run.stored())) <= known), data)
    run.load_weights(model)
    return model.eval().requires_grad_(False).to(device_of(config))
