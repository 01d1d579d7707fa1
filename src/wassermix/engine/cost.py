"""What a training will cost: updates, passes and minutes, from a short measurement."""

from __future__ import annotations

import math
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from wassermix.core.cost import Cost
from wassermix.core.processes import from_first, world_size
from wassermix.engine.budget import make_budget
from wassermix.engine.build import build_parts
from wassermix.engine.loop import TrainState, stored_samples, train
from wassermix.engine.objective import conditions_of
from wassermix.engine.settings import Config
from wassermix.engine.teacher import find_teacher, passes_beforehand
from wassermix.methods.protocol import Method, passes_at

__all__ = ["TrainingCost", "estimate_training"]

STEPS = 20
FINE = 1000
"""Shares of a training at which the cost of a step is asked."""
FIRST, MOST = 2, 200
"""Updates of the first look, and at most of the measurement."""


@dataclass(frozen=True, kw_only=True)
class TrainingCost(Cost):
    """Updates, epochs, forward + backward passes (a forward is a third of one), and their pace here."""

    updates: int
    epochs: float
    beforehand: float = 0.0
    """The passes that a teacher's votes take before the first update."""


def estimate_training(config: Config, *, seconds: float = 3.0) -> TrainingCost:
    """Train for about ``seconds`` without the stored augmented set and a teacher's votes; estimate the whole.

    What cannot be combined, read or built is refused here as it would be by the training itself. Several
    processes measure together, as they would train, and the first one holds the clock.
    """
    parts = build_parts(config)
    find_teacher(config, parts)
    extra, stored = stored_samples(parts), None if parts.augment is None else parts.augment.keeps_set
    samples = len(parts.data.train) + extra
    budget = make_budget(config, samples, world_size())
    plain = config if stored is None else config.model_copy(update={"augment": None})
    first = _trained(plain, FIRST)
    wanted = from_first(lambda: math.ceil(seconds * FIRST / max(first.seconds, 1e-3)))
    short = _trained(plain, min(max(wanted, FIRST), MOST))
    # The worst time of each stored sample is searched once every `refresh` epochs.
    searched = 0.0
    if parts.augment is not None and stored is not None:
        epoch = config.model_copy(update={"epochs": 1, "updates": None, "budget": None})
        one = make_budget(epoch, samples, world_size())
        sets = STEPS if budget.unit == "passes" else math.ceil(budget.amount / one.amount / stored.refresh)
        shares = [number / sets for number in range(sets)]  # the price of a search may change on the way
        prices = [parts.augment.passes(conditions_of(parts.method, share)) for share in shares]
        searched = sum(prices) / sets * extra / stored.refresh
    an_image = short.passes / short.images + searched / samples
    an_update = an_image * short.images / short.updates
    an_update *= _whole_over_measured(parts.method, short.updates, by_passes=budget.unit == "passes")
    before = passes_beforehand(parts.method, len(parts.data.train))
    if budget.unit == "passes":
        updates, passes = math.ceil((budget.amount - before) / an_update), round(budget.amount)
    else:
        updates, passes = round(budget.amount), round(budget.amount * an_update + before)
    pace = from_first(lambda: _pace(short))
    epochs = updates * short.images / short.updates / samples
    return TrainingCost(
        updates=updates, epochs=epochs, passes=passes, passes_per_second=pace, beforehand=before
    )


def _whole_over_measured(method: Method, updates: int, *, by_passes: bool) -> float:
    """What a step of the whole training costs on average, over that of a measurement of ``updates`` steps.

    1 for a method that costs the same all the time. Phases are shares of the training: a measurement of few
    updates meets them coarsely, and under a budget of passes the expensive ones take fewer updates.
    """
    measured = statistics.fmean(passes_at(method, step / updates) for step in range(updates))
    costs = [passes_at(method, (step + 0.5) / FINE) for step in range(FINE)]
    return (statistics.harmonic_mean(costs) if by_passes else statistics.fmean(costs)) / measured


def _trained(config: Config, updates: int) -> TrainState:
    short = config.model_copy(update={"updates": updates, "budget": None, "tensorboard": False})
    with tempfile.TemporaryDirectory() as folder:
        return train(short, Path(folder), measuring=True)


def _pace(state: TrainState) -> float:
    return state.passes / max(state.seconds, 1e-9)
