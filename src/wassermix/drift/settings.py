"""The settings of a drift check and of a monitor: options, file contents and defaults in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wassermix.core.errors import InputError
from wassermix.core.settings import setting

__all__ = ["DriftSettings", "StreamSettings"]


@dataclass(frozen=True, kw_only=True)
class DriftSettings:
    """How accuracy on unlabelled data is estimated."""

    estimator: str = setting(
        "joint", "which estimate leads: joint, plan-input, cot, ... or package.module:Class"
    )
    beside: tuple[str, ...] = setting(
        ("plan-input", "plan-feature", "cot", "neighbour", "atc", "confidence"),
        "estimators to show beside it",
    )
    layer: str | None = setting(None, "module whose output is the features; by default the last hidden one")
    components: int = setting(32, "principal components of inputs and features")
    samples: int = setting(5000, "at most this many new samples, evenly spaced")
    reference_samples: int = setting(5000, "at most this many reference samples, evenly spaced")
    confidence: float = setting(
        0.95, "level of the interval from labels; the one without labels has the width of the survey"
    )
    alpha: float = setting(0.05, "level of the test for drift")
    permutations: int = setting(199, "deals of the two-sample test")
    resamples: int = setting(100, "resampled estimates behind the interval")
    points: int = setting(11, "positions on the way from reference to new data; 0 leaves it out")
    seed: int = setting(0, "seed of the draws")

    def __post_init__(self) -> None:
        if self.samples < 2 or self.reference_samples < 4 or self.components < 1 or self.resamples < 2:
            raise InputError(
                f"drift: samples {self.samples}, reference_samples {self.reference_samples}, components "
                f"{self.components}, resamples {self.resamples}; expected at least 2, 4, 1 and 2"
            )
        if not 0 < self.confidence < 1 or not 0 < self.alpha < 1:
            raise InputError(
                f"drift: confidence {self.confidence}, alpha {self.alpha}; expected numbers between 0 and 1"
            )
        # the smallest p is 1 / (1 + permutations), and Holm doubles it over the two spaces
        if self.alpha * (1 + self.permutations) < 2:
            raise InputError(
                f"drift: permutations {self.permutations} can never show drift at alpha {self.alpha:g}; "
                f"expected {math.ceil(2 / self.alpha) - 1} or more"
            )


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How a stream of new data is watched."""

    every: int = setting(1000, "samples in one batch of a stream")
    alarm: float = setting(5.0, "points of accuracy that may be lost before the alarm")

    def __post_init__(self) -> None:
        if self.every < 2 or not 0 < self.alarm < 100:
            raise InputError(
                f"drift: every {self.every}, alarm {self.alarm}; expected 2 or more samples, 0 to 100 points"
            )
