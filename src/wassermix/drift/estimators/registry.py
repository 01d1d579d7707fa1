"""Every estimator by name; plug-ins announce theirs under ``wassermix.drift``."""

from __future__ import annotations

from typing import Any

from wassermix.core.registry import Registry
from wassermix.drift.estimators.protocol import Estimator

__all__ = ["ESTIMATORS", "make_estimator"]

ESTIMATORS = Registry(
    "estimator",
    "wassermix.drift",
    {
        "joint": "wassermix.drift.estimators.named:Joint",
        "plan-input": "wassermix.drift.estimators.named:PlanInput",
        "plan-feature": "wassermix.drift.estimators.named:PlanFeature",
        "cot": "wassermix.drift.estimators.outputs:OutputTransport",
        "neighbour": "wassermix.drift.estimators.neighbour:NearestNeighbour",
        "atc": "wassermix.drift.estimators.threshold:ThresholdedConfidence",
        "confidence": "wassermix.drift.estimators.confidence:AverageConfidence",
        "confidence-difference": "wassermix.drift.estimators.confidence:ConfidenceDifference",
        "random": "wassermix.drift.estimators.random:RandomPairing",
        "source": "wassermix.drift.estimators.confidence:SourceAccuracy",
    },
)
"""Name -> estimator, ours first."""


def make_estimator(name: str, **options: Any) -> Estimator:
    """The estimator called ``name``, or ``package.module:Class`` of the user's own."""
    made: Estimator = ESTIMATORS.make(name, options)
    return made
