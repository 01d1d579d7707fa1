"""Accuracy on data without labels: labels carried along an optimal plan from a labelled reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.drift.alarm import Alarm
    from wassermix.drift.ask import ask
    from wassermix.drift.check import check
    from wassermix.drift.detector import DriftMonitor
    from wassermix.drift.estimators.registry import ESTIMATORS, make_estimator
    from wassermix.drift.labelled import FewLabels, read_labels
    from wassermix.drift.powered import powered_interval
    from wassermix.drift.prepared import prepare
    from wassermix.drift.reference import Reference
    from wassermix.drift.result import DriftResult, read_result
    from wassermix.drift.settings import DriftSettings, StreamSettings
    from wassermix.drift.shift_test import two_sample_test

__all__ = [
    "ESTIMATORS",
    "Alarm",
    "DriftMonitor",
    "DriftResult",
    "DriftSettings",
    "FewLabels",
    "Reference",
    "StreamSettings",
    "ask",
    "check",
    "make_estimator",
    "powered_interval",
    "prepare",
    "read_labels",
    "read_result",
    "two_sample_test",
]

__getattr__ = lazy_names(__name__)
